"""What of the contract has no test, class by class, and why."""

LEFT_OUT = {
    "TestCustomOp": {
        "list_layout": "Torch's Layout, dense or sparse, has no counterpart: an array is dense.",
        "list_memory_format": 'Torch\'s MemoryFormat has no counterpart; layouts of arguments are hints, `Annotated[np.ndarray, "F"]`.',
        "builtin_aten_ops_are_pt2_compliant": "The tag pt2_compliant_tag does not exist here.",
        "builtin_torchscript_ops": "There is no TorchScript.",
        "autogen_aten_ops_are_pt2_compliant": "The tag pt2_compliant_tag does not exist here.",
    },
    "TestCustomOpAPI": {
        "subclass_accessor_view": "Accessors of torch's tensor subclasses have no counterpart: a wrapper here is no array.",
        "subclass_accessor_view_error": "Accessors of torch's tensor subclasses have no counterpart: a wrapper here is no array.",
        "library_register_autocast": "NumPy has no autocast: dtypes are what the kernel and NumPy's promotion make them.",
        "library_register_autocast_low_level": "NumPy has no autocast.",
        "library_register_autocast_list_input": "NumPy has no autocast.",
        "library_register_autocast_multiple_times": "NumPy has no autocast.",
        "library_register_autocast_multiple_times_different_devices": "NumPy has no autocast.",
        "layout_constraint_tags": 'The tags speak to torch\'s compiler; layouts of arguments are hints here, `Annotated[np.ndarray, "C"]`.',
    },
    "TestPythonRegistration": {
        "override_cuda_with_jiterator": "Jiterator compiles CUDA sources inside torch.",
        "alias_analysis": 'It tests a pass of TorchScript; the argument of the name is taken, `"CONSERVATIVE"` as a tag.',
    },
}
