//! The part of the arithmetic in which the two precisions differ only by names.

macro_rules! lanes_of {
    (
        lanes: $lanes:ident,
        mask: $mask:ident,
        kinds: $kinds:ident,
        number: $number:ty,
        kind: $kind:ty,
        width: $width:ident,
        splat: $splat:ident,
        add: $add:ident,
        sub: $sub:ident,
        mul: $mul:ident,
        mul_add: $mul_add:ident,
        sqrt: $sqrt:ident,
        less: $less:ident,
        and: $and:ident,
        less_among: $less_among:ident,
        select: $select:ident,
        equal: $equal:ident,
        splat_kind: $splat_kind:ident,
        sum: $sum:ident,
        bits: $bits:ident,
        and_kind: $and_kind:ident,
        or_kind: $or_kind:ident,
        not_kind: $not_kind:ident,
        less_lanes: $less_lanes:ident,
        lanes_table: $lanes_table:ident,
        add_kind: $add_kind:ident,
        min: $min:ident,
        max: $max:ident,
        exponential: $exponential:expr $(,)?
    ) => {
        const ROUNDING: f64 = 1.5 / <$number>::EPSILON as f64;
        type SpeciesIndex = $kind;
        type Lanes<S: Simd> = S::$lanes;
        type SpeciesLanes<S: Simd> = S::$kinds;
        type Mask<S: Simd> = S::$mask;

        #[inline(always)]
        fn lanes<S: Simd>() -> usize {
            S::$width
        }
        #[inline(always)]
        fn splat<S: Simd>(simd: S, value: f64) -> S::$lanes {
            simd.$splat(value as $number)
        }
        #[inline(always)]
        fn lane_bits<S: Simd>(simd: S) -> S::$kinds {
            let mut bits = simd.$splat_kind(0);
            for (number, lane) in
                bytemuck::cast_slice_mut::<_, $kind>(std::slice::from_mut(&mut bits)).iter_mut().enumerate()
            {
                *lane = 1 << number;
            }
            bits
        }
        #[inline(always)]
        fn add<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes) -> S::$lanes {
            simd.$add(a, b)
        }
        #[inline(always)]
        fn sub<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes) -> S::$lanes {
            simd.$sub(a, b)
        }
        #[inline(always)]
        fn mul<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes) -> S::$lanes {
            simd.$mul(a, b)
        }
        #[inline(always)]
        fn mul_add<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes, c: S::$lanes) -> S::$lanes {
            if is_fused::<S>() { simd.$mul_add(a, b, c) } else { simd.$add(simd.$mul(a, b), c) }
        }
        #[inline(always)]
        fn neg<S: Simd>(_: S, mut a: S::$lanes) -> S::$lanes {
            // Not by bit operations, because the compiler fuses the negation of a product into one
            // instruction with a sum.
            for lane in bytemuck::cast_slice_mut::<_, $number>(std::slice::from_mut(&mut a)) {
                *lane = -*lane;
            }
            a
        }
        #[inline(always)]
        fn sqrt<S: Simd>(simd: S, a: S::$lanes) -> S::$lanes {
            simd.$sqrt(a)
        }
        #[inline(always)]
        fn exp<S: Simd>(simd: S, a: S::$lanes) -> S::$lanes {
            let least = Self::splat(simd, $exponential.least);
            let x = simd.$max(simd.$min(a, Self::splat(simd, $exponential.most)), least);
            let [n, factor] = $exponential.split::<S, Self>(simd, x);
            let mut exponent: S::$kinds = bytemuck::cast(n);
            for lane in bytemuck::cast_slice_mut::<_, $kind>(std::slice::from_mut(&mut exponent)) {
                *lane <<= <$number>::MANTISSA_DIGITS - 1;
            }
            let result = bytemuck::cast(simd.$add_kind(bytemuck::cast(factor), exponent));
            simd.$select(simd.$less(a, least), Self::splat(simd, 0.0), result)
        }
        #[inline(always)]
        fn gather<S: Simd>(_: S, table: &[f64], mut index: S::$lanes) -> S::$lanes {
            for lane in bytemuck::cast_slice_mut::<_, $number>(std::slice::from_mut(&mut index)) {
                *lane = table.get(*lane as usize).copied().unwrap_or_default() as $number;
            }
            index
        }
        #[inline(always)]
        fn less_than<S: Simd, R: Registers>(
            simd: S,
            a: S::$lanes,
            b: S::$lanes,
            bits: u16,
            lane_bits: S::$kinds,
        ) -> S::$mask {
            #[cfg(target_arch = "x86_64")]
            if let Some(v4) = x86::as_avx512(simd) {
                let mask = v4.avx512f.$less_among(bits as _, bytemuck::cast(a), bytemuck::cast(b));
                return bytemuck::checked::cast(pulp::$bits(mask));
            }
            #[cfg(target_arch = "x86_64")]
            if R::MASKS == $crate::simd::registers::Masks::FromTable && x86::as_avx2(simd).is_some() {
                let among = bytemuck::checked::cast(x86::$lanes_table(bits));
                return simd.$and(simd.$less(a, b), among);
            }
            let bits = simd.$splat_kind(<$kind>::from(bits));
            let among = simd.$equal(simd.$and_kind(bits, lane_bits), lane_bits);
            #[cfg(target_arch = "x86_64")]
            if x86::as_avx2(simd).is_some() {
                let less = x86::$less_lanes(bytemuck::cast(a), bytemuck::cast(b));
                return simd.$and(bytemuck::checked::cast(less), among);
            }
            simd.$and(simd.$less(a, b), among)
        }
        #[inline(always)]
        fn select<S: Simd>(simd: S, mask: S::$mask, yes: S::$lanes, no: S::$lanes) -> S::$lanes {
            // By bit operations: if `no` is 0, they become a single cheap one.
            #[cfg(target_arch = "x86_64")]
            if x86::as_avx2(simd).is_some() {
                let mask: S::$kinds = bytemuck::cast(mask);
                let yes = simd.$and_kind(mask, bytemuck::cast(yes));
                let no = simd.$and_kind(simd.$not_kind(mask), bytemuck::cast(no));
                return bytemuck::cast(simd.$or_kind(yes, no));
            }
            simd.$select(mask, yes, no)
        }
        #[inline(always)]
        fn map_lanes<S: Simd, const N: usize>(
            simd: S,
            numbers: S::$lanes,
            kinds: S::$kinds,
            of_lane: impl Fn(f64, usize) -> [f64; N],
        ) -> [S::$lanes; N] {
            let mut vectors = [simd.$splat(0.0); N];
            let numbers: &[$number] = bytemuck::cast_slice(std::slice::from_ref(&numbers));
            let kinds: &[$kind] = bytemuck::cast_slice(std::slice::from_ref(&kinds));
            for lane in 0..kinds.len() {
                let values = of_lane(f64::from(numbers[lane]), kinds[lane] as usize);
                for (vector, value) in vectors.iter_mut().zip(values) {
                    bytemuck::cast_slice_mut::<_, $number>(std::slice::from_mut(vector))[lane] =
                        value as $number;
                }
            }
            vectors
        }
        #[inline(always)]
        fn species(kind: $kind) -> usize {
            kind as usize
        }
        #[inline(always)]
        fn sum<S: Simd>(simd: S, a: S::$lanes) -> f64 {
            f64::from(simd.$sum(a))
        }
    };
}

/// I-clusters of one particle, whose coordinates fill all lanes.
macro_rules! one_i_particle {
    (number: $number:ty, kind: $kind:ty, splat: $splat:ident, sum: $sum:ident, sums: $sums:ident, look_up: $look_up:ident) => {
        type Row = [$number; ROW_BYTES / size_of::<$number>()];
        const SPECIES_IN_A_ROW: usize = ROW_BYTES / size_of::<$number>();

        #[inline(always)]
        fn look_up<S: Simd>(simd: S, row: Self::Row, kinds: Self::SpeciesLanes<S>) -> Self::Lanes<S> {
            #[cfg(target_arch = "x86_64")]
            if let Some(numbers) = x86::$look_up(simd, row, kinds) {
                return numbers;
            }
            let mut numbers = simd.$splat(0.0);
            let to: &mut [$number] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut numbers));
            let kinds: &[$kind] = bytemuck::cast_slice(std::slice::from_ref(&kinds));
            for lane in 0..kinds.len() {
                to[lane] = row[kinds[lane] as usize % row.len()];
            }
            numbers
        }

        #[inline(always)]
        fn i_particles<S: Simd>() -> usize {
            1
        }
        #[inline(always)]
        fn species_lanes<S: Simd>(_: S, kinds: Self::ClusterSpecies<S>) -> Self::SpeciesLanes<S> {
            kinds
        }
        #[inline(always)]
        fn add_to_i_particles<S: Simd>(simd: S, to: [&mut [f64]; 3], sums: [Self::Lanes<S>; 3], unit: f64) {
            let [x, y, z] = sums;
            #[cfg(target_arch = "x86_64")]
            let together: Option<[$number; 4]> = x86::$sums(simd, sums);
            #[cfg(not(target_arch = "x86_64"))]
            let together: Option<[$number; 4]> = None;
            let sums = match together {
                Some([x, y, z, _]) => [x, y, z],
                None => [simd.$sum(x), simd.$sum(y), simd.$sum(z)],
            };
            for dim in 0..sums.len() {
                to[dim][0] += unit * f64::from(sums[dim]);
            }
        }
        #[inline(always)]
        fn add_cluster<S: Simd>(_: S, to: &mut [f64], sums: Self::Lanes<S>, unit: f64) {
            let sums: &[$number] = bytemuck::cast_slice(std::slice::from_ref(&sums));
            for lane in 0..to.len().min(sums.len()) {
                to[lane] += unit * f64::from(sums[lane]);
            }
        }
    };
}
