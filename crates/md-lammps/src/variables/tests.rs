//! Definitions and values, with the texts that `lmp` prints.

use super::*;
use crate::lines::words;

fn keywords(name: &str) -> Result<f64, String> {
    if name == "lx" { Ok(4.0) } else { Err(format!("no `{name}`")) }
}

fn defined(definitions: &[&str]) -> (Variables, Vec<String>) {
    let mut variables = Variables::given(&[("y".to_owned(), "7".to_owned())]);
    let mut set = |text: &&str| {
        let words = words(text).unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        variables.set(&words, &keywords).err()
    };
    let errors = definitions.iter().filter_map(&mut set).collect();
    (variables, errors)
}

/// Texts are those that `lmp` prints.
#[test]
fn values_are_put_in_as_by_lammps() {
    let (variables, errors) = defined(&[
        "x index 2 3",
        "x index 9",
        "y index 1",
        "third equal 1/3",
        "late equal v_b*3",
        "b equal 1",
        "b equal 2",
        "e string \"x $b y\"",
        "l loop 3 10",
        "m loop 5 pad",
        "n loop 3 12 pad",
        "f format b %08.3f",
        "big equal lx*1e20",
        "run equal step*2",
        "a atom x/2",
    ]);
    assert_eq!(errors, [] as [&str; 0]);
    for (text, expected) in [
        ("0 $x ${third} $y $(v_x/4+(1))", "0 2 0.333333333333333 7 1.5"),
        ("${late} $e|$l|$m|$n|${f}", "6 x 2 y|3|1|03|0002.000"),
        ("$(1/3) $(1/3:%.3f) $(v_f) ${big}", "0.33333333333333331483 0.333 2 4e+20"),
        ("'$x' \"$x\" $x", "'$x' \"$x\" 2"),
        ("a'$x' \"\"\"$x \"$x\" \"\"\"$x", "a'$x' \"\"\"$x \"$x\" \"\"\"2"),
    ] {
        assert_eq!(variables.put_in(text, &keywords).unwrap(), expected, "{text}");
    }
    for (text, expected) in [
        ("$z", "there is no variable `z`"),
        ("${x", "a `${` that is not closed"),
        ("$(x", "a `$(` that is not closed"),
        ("${run}", "no `step`"),
        ("$(v_e)", "the variable `e` is `x 2 y`, which is not a number"),
        ("$a", "the variable `a` of style `atom` has no value here"),
        ("$(1:%d)", "`%d` is no format of a number, such as `%.3f`"),
    ] {
        assert_eq!(variables.put_in(text, &keywords).unwrap_err(), expected);
    }
}

#[test]
fn definitions_that_lammps_does_not_accept_are_refused() {
    for (definition, expected) in [
        ("x", "no name and style"),
        ("x-y index 1", "the name `x-y` has other characters than letters, digits and `_`"),
        ("y equal 3", "`y` is a variable of style `index`, and keeps that style"),
        ("x equal 1 + 2", "the style `equal` with 3 words behind it"),
        ("x loop 5 3", "the loop from 5 to 3 has no value"),
        ("x other 1", "there is no style `other` of variables"),
    ] {
        assert_eq!(defined(&[definition]).1, [expected]);
    }
    assert_eq!(defined(&["y delete", "y equal 3"]).1, [] as [&str; 0]);
}

#[test]
fn variables_do_not_grow_without_bound() {
    let doubled = |name: char, of: char| format!("{name} string ${of}${of}");
    let mut texts = vec!["a string 0123456789".to_owned()];
    texts.extend(('a'..='y').zip('b'..='z').map(|(of, name)| doubled(name, of)));
    let errors = defined(&texts.iter().map(String::as_str).collect::<Vec<_>>()).1;
    assert_eq!(errors[0], "with its variables it has more than 16384 characters");
    let mut sums = vec!["a equal 1".to_owned()];
    sums.extend(('a'..='y').zip('b'..='z').map(|(of, name)| format!("{name} equal v_{of}+v_{of}")));
    let (variables, _) = defined(&sums.iter().map(String::as_str).collect::<Vec<_>>());
    let expected = "a formula depends on itself, or on too many others";
    assert_eq!(variables.put_in("$h", &keywords), Ok("128".to_owned()));
    assert_eq!(variables.put_in("$x", &keywords).unwrap_err(), expected);
    let (variables, _) = defined(&["a equal v_b", "b equal v_a"]);
    assert_eq!(variables.put_in("$a", &keywords).unwrap_err(), expected);
}
