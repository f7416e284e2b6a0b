//! Formulas of `variable NAME equal` and `$(...)`, with the operators and precedences of LAMMPS.

use std::f64::consts::PI;

/// Returns the value of a name that is not a function: `v_NAME`, or a thermo keyword.
pub(super) type Names<'n> = &'n dyn Fn(&str) -> Result<f64, String>;

/// Returns the value of a formula.
///
/// # Errors
/// The part of the formula that has no value here.
pub(super) fn evaluate(text: &str, names: Names) -> Result<f64, String> {
    let mut parser = Parser { rest: text.trim(), names, depth: 0 };
    let value = parser.operation(0)?;
    if parser.rest.is_empty() { Ok(value) } else { Err(format!("`{}` in a formula", parser.rest)) }
}

struct Parser<'t> {
    rest: &'t str,
    names: Names<'t>,
    /// Number of open brackets and signs before a value.
    depth: usize,
}

/// Symbol, precedence and function. All operators are left-associative, also `^`. Longer symbols
/// come first.
type Operator = (&'static str, u8, fn(f64, f64) -> f64);

const OPERATORS: [Operator; 15] = [
    ("||", 1, |a, b| truth(a != 0.0 || b != 0.0)),
    ("|^", 1, |a, b| truth((a != 0.0) != (b != 0.0))),
    ("&&", 2, |a, b| truth(a != 0.0 && b != 0.0)),
    ("==", 3, |a, b| truth(a == b)),
    ("!=", 3, |a, b| truth(a != b)),
    ("<=", 4, |a, b| truth(a <= b)),
    (">=", 4, |a, b| truth(a >= b)),
    ("<", 4, |a, b| truth(a < b)),
    (">", 4, |a, b| truth(a > b)),
    ("+", 5, |a, b| a + b),
    ("-", 5, |a, b| a - b),
    ("*", 6, |a, b| a * b),
    ("/", 6, |a, b| a / b),
    ("%", 6, |a, b| a % b),
    ("^", 7, f64::powf),
];

/// Name and function.
type Function = (&'static str, fn(f64) -> f64);

const FUNCTIONS: [Function; 14] = [
    ("sqrt", f64::sqrt),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log", f64::log10),
    ("abs", f64::abs),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
    ("floor", f64::floor),
    ("ceil", f64::ceil),
    // Halves are rounded up.
    ("round", |x| (x + 0.5).floor()),
];

fn truth(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

impl Parser<'_> {
    fn takes(&mut self, symbol: &str) -> bool {
        let rest = self.rest.strip_prefix(symbol).map(str::trim_start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Parses values joined by operators of precedence `least` or higher.
    fn operation(&mut self, least: u8) -> Result<f64, String> {
        let mut value = self.value()?;
        while let Some((symbol, precedence, effect)) = self.operator(least) {
            value = finite(effect(value, self.operation(precedence + 1)?), symbol)?;
        }
        Ok(value)
    }

    fn operator(&mut self, least: u8) -> Option<Operator> {
        let found = OPERATORS.into_iter().find(|(symbol, ..)| self.rest.starts_with(symbol));
        found.filter(|&(symbol, precedence, _)| precedence >= least && self.takes(symbol))
    }

    fn value(&mut self) -> Result<f64, String> {
        /// Largest depth of brackets and signs in a formula.
        const DEEPEST: usize = 40;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("too many brackets or signs in a formula".to_owned());
        }
        let value = if self.takes("-") {
            -self.value()?
        } else if self.takes("!") {
            truth(self.value()? == 0.0)
        } else if self.takes("(") {
            let value = self.operation(0)?;
            self.close()?;
            value
        } else if self.rest.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
            self.number()?
        } else {
            self.named()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn close(&mut self) -> Result<(), String> {
        if self.takes(")") { Ok(()) } else { Err("a bracket that is not closed".to_owned()) }
    }

    fn number(&mut self) -> Result<f64, String> {
        let mut before = ' ';
        let is_part = |letter: char| {
            let is_sign = matches!(letter, '+' | '-') && matches!(before, 'e' | 'E');
            before = letter;
            letter.is_ascii_digit() || matches!(letter, '.' | 'e' | 'E') || is_sign
        };
        let text = self.cut(is_part);
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        value.ok_or_else(|| format!("`{text}` is not a number"))
    }

    fn named(&mut self) -> Result<f64, String> {
        let name = self.cut(|letter| letter.is_alphanumeric() || letter == '_').to_owned();
        if !self.rest.starts_with('(') {
            return match name.as_str() {
                "" => Err(format!("`{}` in a formula", self.rest)),
                "PI" => Ok(PI),
                _ => (self.names)(&name),
            };
        }
        let function = FUNCTIONS.into_iter().find(|(own, _)| *own == name);
        if function.is_none() && name != "atan2" {
            return Err(format!("`{name}{}` in a formula", self.rest));
        }
        self.takes("(");
        let first = self.operation(0)?;
        let value = match function {
            Some((_, function)) => function(first),
            None if self.takes(",") => first.atan2(self.operation(0)?),
            None => return Err(format!("`{name}` of one number")),
        };
        self.close()?;
        finite(value, &name)
    }

    fn cut(&mut self, mut is_part: impl FnMut(char) -> bool) -> &str {
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        text
    }
}

fn finite(value: f64, of: &str) -> Result<f64, String> {
    if value.is_finite() { Ok(value) } else { Err(format!("`{of}` comes to no number in a formula")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are those printed by `lmp`.
    #[test]
    fn formulas() {
        let names = |name: &str| match name {
            "v_x" => Ok(3.0),
            "lx" => Ok(4.0),
            _ => Err(format!("no `{name}`")),
        };
        for (text, expected) in [
            ("20*3", 60.0),
            ("2 + 3 * v_x ^ 2", 29.0),
            ("-2^2", 4.0),
            ("2^3^2", 64.0),
            ("2^-1", 0.5),
            ("--2", 2.0),
            ("2*-3", -6.0),
            ("7%3", 1.0),
            ("7.5 % 2", 1.5),
            ("round(-2.5)", -2.0),
            ("round(2.5)", 3.0),
            ("8-4-2", 2.0),
            ("8/4/2", 1.0),
            ("2==2 && 3>1", 1.0),
            ("1<2 == 1", 1.0),
            ("!0 + 1", 2.0),
            ("3|^4", 0.0),
            ("3|^0", 1.0),
            ("1||0&&0", 1.0),
            ("2!=2", 0.0),
            ("1>=1", 1.0),
            ("(v_x/2+1)*1.5e-1", 0.375),
            ("sqrt(16.0) - ln(exp(1))", 3.0),
            ("atan2(1, 1)*4", PI),
            ("2*PI + lx", 2.0 * PI + 4.0),
        ] {
            let found = evaluate(text, &names).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!((found - expected).abs() < 1e-12, "{text}: {found}");
        }
        let signs = "-".repeat(1000);
        for text in [
            "",
            "1+",
            "(1",
            "v_y",
            "c_msd[4]/4",
            "step*dt",
            "vdisplace(1,2)",
            "1 2",
            "+2",
            "1=1",
            "sqrt(-1)",
            "1/0",
            "5%0",
            "1.5.2",
            "sqrt 4",
            "atan2(1)",
            "f(1",
            &signs,
        ] {
            assert!(evaluate(text, &names).is_err(), "{text}");
        }
    }
}
