//! Running cases on a GPU, through the driver.

use std::ffi::CString;
use std::ffi::c_void;

use cudarc::driver::{result, sys};

use crate::case::{Case, DataType, Map};

/// A context on the first GPU.
pub(crate) struct Gpu {
    pub(crate) description: String,
}

impl Gpu {
    /// The first GPU, `Err` saying why there is none.
    pub(crate) fn open() -> Result<Self, String> {
        // SAFETY: asks only whether the library can be opened.
        if !unsafe { sys::is_culib_present() } {
            return Err("libcuda.so is not here".to_owned());
        }
        result::init().map_err(|error| error.to_string())?;
        let device = result::device::get(0).map_err(|error| error.to_string())?;
        let name = result::device::get_name(device).map_err(|error| error.to_string())?;
        let mut driver = 0;
        // SAFETY: the device is valid, the context is kept by the driver and never released.
        unsafe {
            let context = result::primary_ctx::retain(device).map_err(|error| error.to_string())?;
            result::ctx::set_current(context).map_err(|error| error.to_string())?;
            sys::cuDriverGetVersion(&raw mut driver).result().map_err(|error| error.to_string())?;
        }
        Ok(Self {
            description: format!("{name}, driver for CUDA {}.{}", driver / 1000, driver / 10 % 100),
        })
    }

    /// The output of a case. A kernel that the GPU stops leaves nothing that could run another.
    pub(crate) fn run(&self, case: &Case) -> Result<Vec<u8>, String> {
        let ptx = CString::new(case.ptx.as_str()).map_err(|error| error.to_string())?;
        let mut log = vec![0u8; 8192];
        // SAFETY: the module is loaded from text that ends in NUL and outlives the call, and so does
        // the log; kernels are given what their parameters say, on buffers of the sizes they use, and
        // have finished before anything is freed.
        unsafe {
            let mut module = std::ptr::null_mut();
            let mut options = [
                sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
                sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            ];
            let mut values: [*mut c_void; 2] =
                [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
            let loaded = sys::cuModuleLoadDataEx(
                &raw mut module,
                ptx.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            );
            if let Err(error) = loaded.result() {
                let text = String::from_utf8_lossy(&log);
                return Err(format!("{error}: {}", text.trim_end_matches('\0')));
            }
            let output = self.launch(case, module);
            let output = output.map_err(|error| error.to_string())?;
            result::module::unload(module).map_err(|error| error.to_string())?;
            Ok(output)
        }
    }

    /// # Safety
    /// The module's kernel `k` must take what the case says.
    unsafe fn launch(
        &self,
        case: &Case,
        module: sys::CUmodule,
    ) -> Result<Vec<u8>, result::DriverError> {
        // SAFETY: the caller's contract; see `run`.
        unsafe {
            let function = result::module::get_function(module, CString::new("k").unwrap())?;
            let mut buffers = Vec::new();
            for input in &case.inputs {
                let buffer = result::malloc_sync(input.len().max(1))?;
                result::memcpy_htod_sync(buffer, input)?;
                buffers.push(buffer);
            }
            let out = result::malloc_sync(case.output_len)?;
            let mut output = vec![0u8; case.output_len];
            result::memcpy_htod_sync(out, &output)?;
            let mut words: Vec<u64> = buffers.iter().copied().chain([out]).collect();
            words.extend(&case.scalars);
            let mut maps = Vec::new();
            for map in &case.maps {
                maps.push(encode(map, map.input.map_or(out, |input| buffers[input]))?);
            }
            let mut parameters: Vec<*mut c_void> =
                words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
            parameters.extend(maps.iter_mut().map(|map| std::ptr::from_mut(map).cast::<c_void>()));
            result::launch_kernel(
                function,
                (case.blocks, 1, 1),
                (case.threads, 1, 1),
                0,
                std::ptr::null_mut(),
                &mut parameters,
            )?;
            result::ctx::synchronize()?;
            result::memcpy_dtoh_sync(&mut output, out)?;
            for buffer in buffers.into_iter().chain([out]) {
                result::free_sync(buffer)?;
            }
            Ok(output)
        }
    }
}

/// # Safety
/// A context must be current; `address` must be of device memory that covers the map's tensor.
unsafe fn encode(map: &Map, address: u64) -> Result<sys::CUtensorMap, result::DriverError> {
    use sys::{CUtensorMapDataType_enum as Type, CUtensorMapInterleave_enum as Interleave};
    use sys::{CUtensorMapFloatOOBfill_enum as Fill, CUtensorMapSwizzle_enum as Swizzle};
    let data_type = match map.data_type {
        DataType::U8 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        DataType::U16 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        DataType::U32 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        DataType::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        DataType::Bf16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    };
    let interleave = [
        Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
        Interleave::CU_TENSOR_MAP_INTERLEAVE_16B,
        Interleave::CU_TENSOR_MAP_INTERLEAVE_32B,
    ][map.interleave as usize];
    let swizzle = [
        Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
        Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
    ][map.swizzle as usize];
    let fill = if map.nan {
        Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
    } else {
        Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
    };
    let mut encoded = std::mem::MaybeUninit::zeroed();
    // SAFETY: the arrays have as many elements as the rank says (strides one less).
    unsafe {
        sys::cuTensorMapEncodeTiled(
            encoded.as_mut_ptr(),
            data_type,
            map.dims.len() as u32,
            std::ptr::with_exposed_provenance_mut(address as usize),
            map.dims.as_ptr(),
            map.strides.as_ptr(),
            map.tile.as_ptr(),
            map.element_strides.as_ptr(),
            interleave,
            swizzle,
            sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            fill,
        )
        .result()?;
        Ok(encoded.assume_init())
    }
}
