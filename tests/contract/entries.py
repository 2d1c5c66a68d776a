"""The names of the contract's entries, class by class: those of torch's tests, `test_` before them."""

ENTRIES = {
    "TestCustomOpTesting": """
        aot_autograd_check_degenerate_cases incorrect_schema_mutation incorrect_schema_view opcheck_cpu_stride_mismatch
        opcheck_unbacked_stride single_element_tuple_output missing_abstract_impl incorrect_abstract_impl
        missing_functionalization autograd_registered_at_backend global_state_mutation opcheck_fails_basic
        autograd_registration_check_autograd_kernel autograd_registration_check_compositeimplicitautograd
        autograd_registration_check_incorrect_composite autograd_registration_check_incorrect assert_raises_regex
    """,
    "TestCustomOp": """
        functionalize_error invalid_schemas invalid_qualname name_must_match unsupported_schemas schema_matches_signature
        infer_schema_no_return infer_schema_supported infer_schema_unsupported supported_return_types_single_return
        supported_return_types_multi_return supported_param_types sequences unsupported_param_types supported_schemas
        is_functional_schema incorrect_schema_types is_tensorlist_like_type list_scalar_type list_layout list_memory_format
        reserved_ns private_ctor lifetime define_bad_schema define_and_impl define_validation legacy_define impl_function
        legacy_impl impl_separate impl_multiple duplicate_impl impl_cpu impl_meta impl_device_cpu impl_device_cuda
        impl_device_function impl_device_invalid impl_invalid_devices impl_on_existing_op
        impl_on_existing_op_with_cpu_registration defined_in_python load_library override_impl override_fake override_meta
        override_cea register_fake_does_not_leak_on_failure resolve_packet
        abstract_impl_on_existing_op abstract_impl_on_existing_op_with_meta
        abstract_impl_on_existing_op_with_CompositeImplicitAutograd
        abstract_impl_on_existing_op_with_CompositeExplicitAutograd impl_abstract_overload
        meta_for_data_dependent_shape_operation new_data_dependent_symint basic_make_fx not_implemented_error
        data_dependent_basic data_dependent_fake_tracing data_dependent_compile data_dependent_nms_dynamic_compile symints
        autograd_notimplemented autograd_notimplemented_gradmode autograd_function_backed_op backward_partially_registered
        save_for_backward_inputs_are_namedtuple backward_returns_dict backward_dict_invalid_keys
        backward_dict_grad_for_nontensor backward_dict_requires_keys_for_input_tensors
        backward_dict_requires_keys_for_input_optional_tensors backward_grads_are_tensor_or_none
        backward_tensorlist_input_requires_list_grads backward_tensorlist_input_requires_list_grads_with_same_numel
        backward_tensorlist_input_requires_list_grads_none_or_Tensor backward_output_differentiability_type
        backward_output_differentiability_numel backward_output_differentiability_tensorlist
        backward_output_differentiability_non_tensor backward_impl_on_existing_op
        backward_impl_on_existing_op_incorrect_schema_views backward_impl_on_existing_op_incorrect_schema_mutable
        backward_impl_on_existing_op_incorrect_schema_no_output backward_impl_on_existing_op_CompositeImplicitAutograd
        backward_impl_on_existing_op_with_key define_with_tags builtin_aten_ops_are_pt2_compliant builtin_torchscript_ops
        autogen_aten_ops_are_pt2_compliant
    """,
    "MiniOpTest and MiniOpTestOther": """
        dont_generate mm mm_meta mm_fake mm_errors nonzero inplace incorrect_schema no_abstract delayed_error
        delayed_error_no_requires_grad nonzero_again
    """,
    "TestCustomOpAPI": """
        custom_op_tags custom_op_tags_dedup_pt2_compliant custom_op_inplace_out_tags_mutually_exclusive custom_op_inplace_tag
        custom_op_inplace_tag_returns_wrong_tensor custom_op_inplace_tag_mutates_args_iterable custom_op_inplace_tag_autograd
        custom_op_inplace_tag_register_fake_warns custom_op_inplace_tag_compile custom_op_inplace_tag_no_positional_arg
        custom_op_inplace_tag_first_arg_not_tensor custom_op_inplace_tag_mutates_non_first_arg
        custom_op_inplace_tag_return_none custom_op_inplace_tag_multiple_returns custom_op_inplace_tag_manual_schema
        custom_op_inplace_tag_bad_manual_schema custom_op_out_tag custom_op_out_tag_compile custom_op_out_tag_multiple_returns
        custom_op_out_tag_returns_wrong_tensor custom_op_out_tag_autograd custom_op_out_tag_register_fake_warns
        custom_op_register_fake_ordinary_op custom_op_out_tag_register_autograd library_register_autograd_out_tag_low_level
        custom_op_out_tag_positional_mutable_arg custom_op_out_tag_no_mutable_out custom_op_out_tag_optional_mutable_out
        custom_op_out_tag_list_mutable_out custom_op_out_tag_manual_schema_requires_tensor_out
        custom_op_out_tag_return_mismatch custom_op_out_tag_single_return_tuple_mismatch custom_op_out_tag_manual_schema
        custom_op_out_tag_bad_manual_schema
        basic no_grad_skips_autograd manual_schema manual_schema_error default_values kwarg_only_tensors overloading
        disallows_output_aliasing factory_function library_schema_infer multi_types replacement split_device fake compile
        supports_tensorlist any_requires_grad any_output_is_alias_to_input_or_output set_kernel_enabled library_get_kernel
        library_get_kernel_with_conditional_dispatch library_get_kernel_invalid
        mutated mutated_error mutated_unknown mutated_optional_arg_default_none mutated_no_warning
        register_autograd_incorrect_num_gradients register_autograd_defaulted_inputs_full
        register_autograd_defaulted_inputs_actual register_autograd_defaulted_inputs_too_few_gradients
        register_autograd_pt_metadata_ctx_attr_is_not_tensorlist register_autograd_tensorlist_defaulted_input
        register_autograd_tensorlist_return_defaulted_input register_autograd_kwargonly_low_level register_autograd_defaults
        register_autograd_error_cases library_register_autograd library_register_autograd_low_level subclass_accessor_view
        subclass_accessor_view_error
        library_register_torch_dispatch_rule_subclass library_register_torch_dispatch_rule_mode library_register_fake_source
        library_register_fake library_register_torch_dispatch library_register_torch_dispatch_low_level
        library_register_kernel library_register_kernel_low_level
        library_register_autocast library_register_autocast_low_level library_register_autocast_list_input
        library_register_autocast_multiple_times library_register_autocast_multiple_times_different_devices
        library_register_vmap library_register_vmap_library_decorator library_register_vmap_op_decorator
        library_register_vmap_register_multiple_times library_register_vmap_register_multiple_times_2
        register_vmap_kwargonly_low_level register_vmap_defaults layout_constraint_tags
    """,
    "TestLibrarySourceLocation": "library_source_location",
    "TestGenerateOpcheckTests": """
        MiniOpTest generate_repro_save_data generate_repro_no_save_data failures_dict_validation dont_generate_decorator opcheck
        opcheck_customopdef is_inside_opcheck_mode opcheck_bad_op opcheck_does_not_require_extra_deps
    """,
    "TestTypeConversion": "simple_tuple supported_types optional mixed_types",
    "TestOpProfiles": """
        fake_registration duplicate_registration_impl duplicate_registration_custom_op yaml save_to_file version
    """,
    "custom_op_db": "opcheck_opinfo",
    "TestPythonRegistration": """
        call_boxed override_aten_ops_with_multiple_libraries error_if_fn_not_callable override_cpu_sum
        override_cuda_with_jiterator extend_library_with_dispatch_key_arg create_new_library
        create_new_library_fragment_no_existing create_new_library_fragment_with_existing alias_analysis
        error_for_unsupported_ns_or_kind returning_symint
    """,
}
