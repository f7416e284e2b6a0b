//! Enums whose values have names.

/// Implements `ALL`, `name` and `from_name` for enums that derive [`strum::VariantArray`] and
/// [`strum::IntoStaticStr`].
macro_rules! named {
    ($($option:ident),+) => {$(
        impl $option {
            /// All values, in the order of their declaration.
            pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

            /// Returns the name in configuration files and tables.
            pub fn name(self) -> &'static str {
                self.into()
            }

            /// Returns the value with this [`Self::name`].
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    )+};
}
