//! Formulas of `variable NAME equal` and `$(...)`: numbers, variables as `v_NAME`, + - * / ^, brackets and a few functions.

use std::f64::consts::PI;

/// What a formula comes to.
///
/// # Errors
/// What it has that is not known here.
pub(super) fn evaluate(text: &str, variable: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
    let mut parser = Parser { rest: text.trim(), variable, depth: 0 };
    let value = parser.sum()?;
    if parser.rest.is_empty() { Ok(value) } else { Err(format!("`{}` in a formula", parser.rest)) }
}

struct Parser<'t> {
    rest: &'t str,
    variable: &'t dyn Fn(&str) -> Option<f64>,
    /// Brackets that are open.
    depth: usize,
}

impl Parser<'_> {
    fn takes(&mut self, symbol: &str) -> bool {
        let rest = self.rest.strip_prefix(symbol).map(str::trim_start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            if self.takes("+") {
                value += self.product()?;
            } else if self.takes("-") {
                value -= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.power()?;
        loop {
            if self.takes("*") {
                value *= self.power()?;
            } else if self.takes("/") {
                value /= self.power()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn power(&mut self) -> Result<f64, String> {
        let base = self.value()?;
        if self.takes("^") { Ok(base.powf(self.power()?)) } else { Ok(base) }
    }

    fn value(&mut self) -> Result<f64, String> {
        /// Deeper ones are no formulas.
        const MOST_BRACKETS: usize = 100;
        if self.takes("-") {
            return Ok(-self.power()?);
        }
        if self.takes("(") {
            self.depth += 1;
            if self.depth > MOST_BRACKETS {
                return Err("too many brackets in a formula".to_owned());
            }
            let value = self.sum()?;
            self.depth -= 1;
            return if self.takes(")") { Ok(value) } else { Err("a bracket that is not closed".to_owned()) };
        }
        let is_number = self.rest.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.');
        if is_number { self.number() } else { self.named() }
    }

    fn number(&mut self) -> Result<f64, String> {
        let mut before = ' ';
        let is_part = |letter: char| {
            let is_sign = matches!(letter, '+' | '-') && matches!(before, 'e' | 'E');
            before = letter;
            letter.is_ascii_digit() || matches!(letter, '.' | 'e' | 'E') || is_sign
        };
        let text = self.cut(is_part);
        text.parse().map_err(|_| format!("`{text}` is not a number"))
    }

    fn named(&mut self) -> Result<f64, String> {
        let name = self.cut(|letter| letter.is_alphanumeric() || letter == '_').to_owned();
        if let Some(variable) = name.strip_prefix("v_") {
            return (self.variable)(variable).ok_or_else(|| format!("the variable `{variable}`"));
        }
        if name == "PI" {
            return Ok(PI);
        }
        let function: fn(f64) -> f64 = match name.as_str() {
            "sqrt" => f64::sqrt,
            "exp" => f64::exp,
            "ln" => f64::ln,
            "log" => f64::log10,
            "abs" => f64::abs,
            "sin" => f64::sin,
            "cos" => f64::cos,
            "tan" => f64::tan,
            "floor" => f64::floor,
            "ceil" => f64::ceil,
            "round" => f64::round,
            _ => return Err(format!("`{name}{}` in a formula", self.rest)),
        };
        if self.rest.starts_with('(') {
            Ok(function(self.value()?))
        } else {
            Err(format!("`{name}` without brackets"))
        }
    }

    fn cut(&mut self, is_part: impl FnMut(char) -> bool) -> &str {
        let mut is_part = is_part;
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas() {
        let variable = |name: &str| (name == "x").then_some(3.0);
        for (text, expected) in [
            ("20*3", 60.0),
            ("2 + 3 * v_x ^ 2", 29.0),
            ("-2^2", -4.0),
            ("(v_x/2+1)*1.5e-1", 0.375),
            ("sqrt(16.0) - ln(exp(1))", 3.0),
            ("2*PI", 2.0 * PI),
        ] {
            assert!((evaluate(text, &variable).unwrap() - expected).abs() < 1e-12, "{text}");
        }
        for text in ["", "1+", "(1", "v_y", "c_msd[4]/4", "step*dt", "vdisplace(1,2)", "1 2"] {
            assert!(evaluate(text, &variable).is_err(), "{text}");
        }
    }
}
