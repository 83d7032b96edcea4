"""llama.cpp's C interface through the Python package that is installed: llama-cpp-python (ctypes) or llama-cpp-py-sync (cffi)."""


class Library:
    def __init__(self):
        self.said = []  # what the library logs
        try:
            self.use_ctypes()
        except ModuleNotFoundError:
            self.use_cffi()
        self.lib.llama_backend_init()

    def use_ctypes(self):
        import llama_cpp.llama_cpp as lib

        self.lib, nothing = lib, None
        self.listener = lib.llama_log_callback(lambda level, text, _: self.said.append(text.decode(errors="replace")))
        lib.llama_log_set(self.listener, nothing)

    def use_cffi(self):
        import llama_cpp_py_sync._cffi_bindings as bindings

        self.lib, ffi = bindings.get_lib(), bindings.get_ffi()
        self.listener = ffi.callback("ggml_log_callback", lambda level, text, _: self.said.append(ffi.string(text).decode(errors="replace")))
        self.lib.llama_log_set(self.listener, ffi.NULL)

    def model(self, path):
        """The model, or None if the library refuses it."""
        params = self.lib.llama_model_default_params()
        for name, value in (("load_mode", 0), ("use_mmap", False), ("use_extra_bufts", False), ("load_mtp", False)):
            if hasattr(params, name):
                setattr(params, name, value)
        params.no_alloc = check(params, "no_alloc")
        return self.lib.llama_model_load_from_file(path.encode(), params) or None

    def context(self, model, settings):
        params = self.lib.llama_context_default_params()
        for name, value in {**settings, "n_threads": 1, "n_threads_batch": 1}.items():
            setattr(params, name, value)
        return self.lib.llama_init_from_model(model, params) or None

    def number(self, function, of):
        return int(getattr(self.lib, function)(of))


def check(params, name):
    """True. ctypes takes any name."""
    if not hasattr(params, name):
        raise AttributeError(f"this release of llama.cpp has no {name}: it would allocate the model")
    return True
