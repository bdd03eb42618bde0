/* Calls of compiled kernels from Python: arguments in, results out, threads in between.

   Built once a machine and Python; kernels themselves know nothing of Python. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* -- threads: one pool a process; chunks are handed out one by one ------------------------------ */

typedef void (*part_t)(void **, long, long);

struct host {
    void (*parallel)(part_t part, void **p, long chunks, long work);
};

#if defined(__x86_64__) || defined(__i386__)
#define rest() __builtin_ia32_pause()
#else
#define rest() ((void)0)
#endif

#define MOST_THREADS 64
#define SPINS 2000

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER; /* held by who uses the pool */
static pthread_mutex_t job_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_ready = PTHREAD_COND_INITIALIZER;
static int n_threads = 1; /* as asked for, the caller included */
static long worth_threads = 150000; /* additions; less is over before another thread wakes up */
static int n_started = 0; /* workers that run */
static part_t job_part;
static void **job_p;
static long job_chunks;
static int job_workers; /* how many may take part */
static atomic_long job_next, job_serial;
static atomic_int job_busy; /* workers that have not finished */

static void take_chunks(part_t part, void **p, long chunks)
{
    for (;;) {
        long c = atomic_fetch_add(&job_next, 1);
        if (c >= chunks)
            return;
        part(p, c, c + 1);
    }
}

static void *work(void *arg)
{
    const int number = (int)(long)arg;
    long seen = 0;
    for (;;) {
        for (int spin = 0; spin < SPINS && atomic_load(&job_serial) == seen; spin++)
            rest();
        pthread_mutex_lock(&job_lock);
        while (atomic_load(&job_serial) == seen)
            pthread_cond_wait(&job_ready, &job_lock);
        seen = atomic_load(&job_serial);
        const int mine = number < job_workers;
        part_t part = job_part;
        void **p = job_p;
        long chunks = job_chunks;
        pthread_mutex_unlock(&job_lock);
        if (mine) {
            take_chunks(part, p, chunks);
            atomic_fetch_sub(&job_busy, 1);
        }
    }
    return NULL;
}

static void parallel(part_t part, void **p, long chunks, long worth)
{
    if (n_threads < 2 || chunks < 2 || worth < worth_threads ||
        pthread_mutex_trylock(&pool_lock) != 0) {
        part(p, 0, chunks);
        return;
    }
    int workers = n_threads - 1;
    if (workers > chunks - 1)
        workers = (int)chunks - 1;
    pthread_mutex_lock(&job_lock);
    while (n_started < workers) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)(long)n_started) != 0)
            break;
        pthread_detach(thread);
        n_started++;
    }
    if (workers > n_started)
        workers = n_started;
    job_part = part;
    job_p = p;
    job_chunks = chunks;
    job_workers = workers;
    atomic_store(&job_next, 0);
    atomic_store(&job_busy, workers);
    atomic_fetch_add(&job_serial, 1);
    pthread_cond_broadcast(&job_ready);
    pthread_mutex_unlock(&job_lock);
    take_chunks(part, p, chunks);
    while (atomic_load(&job_busy) > 0)
        rest();
    pthread_mutex_unlock(&pool_lock);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&pool_lock, NULL);
    pthread_mutex_init(&job_lock, NULL);
    pthread_cond_init(&job_ready, NULL);
    n_started = 0;
    atomic_store(&job_busy, 0);
    atomic_store(&job_serial, 0);
}

static const struct host HOST = {parallel};

/* -- kernels ---------------------------------------------------------------------------------- */

typedef struct {
    int type;       /* NumPy's number of the dtype */
    int is_number;  /* one number, rather than an array */
    int is_weak;    /* of a plain Python number */
    int ndim;
    npy_intp dims[NPY_MAXDIMS];
} Kind;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    void (*run)(void **, const struct host *);
    int n_in, n_out;
    Kind *kinds; /* of arguments, then of results */
    size_t scratch;
    long work;
    PyObject *name;
} Kernel;

#define MOST 1024             /* arguments and results */
#define ON_STACK 16384       /* bytes of memory during a call */
#define WORTH_RELEASE 200000 /* additions; other threads of Python run meanwhile */

typedef union {
    double d;
    float f;
    npy_int64 l;
    npy_int32 i;
    npy_int16 h;
    npy_int8 b;
    npy_bool t;
} Number;

static int read_number(PyObject *value, int type, Number *out)
{
    if (type == NPY_DOUBLE || type == NPY_FLOAT) {
        double d = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : PyFloat_AsDouble(value);
        if (d == -1.0 && PyErr_Occurred())
            return -1;
        if (type == NPY_DOUBLE)
            out->d = d;
        else
            out->f = (float)d;
        return 0;
    }
    if (type == NPY_BOOL) {
        int truth = PyObject_IsTrue(value);
        out->t = (npy_bool)truth;
        return truth < 0 ? -1 : 0;
    }
    PyObject *whole = PyNumber_Index(value);
    if (whole == NULL)
        return -1;
    long long n = PyLong_AsLongLong(whole);
    Py_DECREF(whole);
    if (n == -1 && PyErr_Occurred())
        return -1;
    switch (type) {
    case NPY_INT64: out->l = n; break;
    case NPY_INT32: out->i = (npy_int32)n; break;
    case NPY_INT16: out->h = (npy_int16)n; break;
    default: out->b = (npy_int8)n;
    }
    return 0;
}

static PyObject *number(const Kind *kind, Number *value)
{
    if (kind->type == NPY_DOUBLE && !kind->is_weak) {
        PyObject *out = PyArrayScalar_New(Double);
        if (out != NULL)
            PyArrayScalar_ASSIGN(out, Double, value->d);
        return out;
    }
    if (kind->is_weak) {
        if (kind->type == NPY_DOUBLE)
            return PyFloat_FromDouble(value->d);
        return kind->type == NPY_BOOL ? PyBool_FromLong(value->t) : PyLong_FromLongLong(value->l);
    }
    PyArray_Descr *descr = PyArray_DescrFromType(kind->type);
    PyObject *out = PyArray_Scalar(value, descr, NULL);
    Py_DECREF(descr);
    return out;
}

/* An array as the kernel reads it: of its dtype and shape, row by row, aligned. */
static PyArrayObject *as_array(Kernel *self, PyObject *value, const Kind *kind, int position)
{
    PyArray_Descr *descr = PyArray_DescrFromType(kind->type);
    PyObject *made = PyArray_FromAny(value, descr, 0, 0, NPY_ARRAY_IN_ARRAY, NULL);
    if (made == NULL)
        return NULL;
    PyArrayObject *array = (PyArrayObject *)made;
    if (PyArray_NDIM(array) != kind->ndim ||
        !PyArray_CompareLists(PyArray_DIMS(array), kind->dims, kind->ndim)) {
        PyErr_Format(PyExc_ValueError, "%U: argument %d has another shape than it was compiled "
                     "for", self->name, position + 1);
        Py_DECREF(made);
        return NULL;
    }
    return array;
}

static int fits(PyObject *value, const Kind *kind)
{
    if (!PyArray_CheckExact(value))
        return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_TYPE(array) != kind->type || PyArray_NDIM(array) != kind->ndim ||
        !PyArray_ISCARRAY_RO(array))
        return 0;
    const npy_intp *dims = PyArray_DIMS(array);
    for (int i = 0; i < kind->ndim; i++)
        if (dims[i] != kind->dims[i])
            return 0;
    return 1;
}

static PyObject *kernel_call(PyObject *callable, PyObject *const *args, size_t flags,
                             PyObject *keywords)
{
    Kernel *self = (Kernel *)callable;
    const int n_in = self->n_in, n_out = self->n_out;
    if (PyVectorcall_NARGS(flags) != n_in || (keywords != NULL && PyTuple_GET_SIZE(keywords))) {
        PyErr_Format(PyExc_TypeError, "%U takes %d arguments", self->name, n_in);
        return NULL;
    }
    void *p[MOST + 2];
    Number numbers[MOST];
    PyObject *results[MOST];
    PyObject *copies[MOST];
    int n_copies = 0, n_made = 0;
    void *heap = NULL;
    PyObject *answer = NULL;
    char stack[ON_STACK] __attribute__((aligned(64)));
    long fail[2] = {0, 0};

    for (int i = 0; i < n_in; i++) {
        const Kind *kind = &self->kinds[i];
        if (kind->is_number) {
            if (read_number(args[i], kind->type, &numbers[i]) < 0)
                goto done;
            p[i] = &numbers[i];
        } else if (fits(args[i], kind)) {
            p[i] = PyArray_DATA((PyArrayObject *)args[i]);
        } else {
            PyArrayObject *array = as_array(self, args[i], kind, i);
            if (array == NULL)
                goto done;
            copies[n_copies++] = (PyObject *)array;
            p[i] = PyArray_DATA(array);
        }
    }
    for (int i = 0; i < n_out; i++) {
        const Kind *kind = &self->kinds[n_in + i];
        results[i] = NULL;
        if (kind->is_number) {
            p[n_in + i] = &numbers[n_in + i];
        } else {
            results[i] = PyArray_EMPTY(kind->ndim, (npy_intp *)kind->dims, kind->type, 0);
            if (results[i] == NULL)
                goto done;
            p[n_in + i] = PyArray_DATA((PyArrayObject *)results[i]);
        }
        n_made = i + 1;
    }
    p[n_in + n_out] = stack;
    if (self->scratch > ON_STACK) {
        if (posix_memalign(&heap, 64, self->scratch) != 0) {
            heap = NULL;
            PyErr_NoMemory();
            goto done;
        }
        p[n_in + n_out] = heap;
    }
    p[n_in + n_out + 1] = fail;
    if (self->work >= WORTH_RELEASE) {
        Py_BEGIN_ALLOW_THREADS
        self->run(p, &HOST);
        Py_END_ALLOW_THREADS
    } else {
        self->run(p, &HOST);
    }
    if (fail[1] != 0) {
        PyErr_Format(PyExc_IndexError, "index %ld is out of bounds for axis with size %ld",
                     fail[0], fail[1]);
        goto done;
    }
    for (int i = 0; i < n_out; i++) {
        if (results[i] == NULL) {
            results[i] = number(&self->kinds[n_in + i], &numbers[n_in + i]);
            if (results[i] == NULL)
                goto done;
        }
    }
    if (n_out == 1) {
        answer = results[0];
        results[0] = NULL;
        goto done;
    }
    answer = PyTuple_New(n_out);
    if (answer == NULL)
        goto done;
    for (int i = 0; i < n_out; i++) {
        PyTuple_SET_ITEM(answer, i, results[i]);
        results[i] = NULL;
    }
done:
    for (int i = 0; i < n_made; i++)
        Py_XDECREF(results[i]);
    for (int i = 0; i < n_copies; i++)
        Py_DECREF(copies[i]);
    free(heap);
    return answer;
}

static void kernel_dealloc(PyObject *object)
{
    Kernel *self = (Kernel *)object;
    free(self->kinds);
    Py_XDECREF(self->name);
    Py_TYPE(object)->tp_free(object);
}

static PyMemberDef kernel_members[] = {
    {"__name__", T_OBJECT_EX, offsetof(Kernel, name), READONLY, "the kernel's name"},
    {NULL}};

static PyTypeObject KernelType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "wengert_native.Kernel",
    .tp_basicsize = sizeof(Kernel),
    .tp_dealloc = kernel_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Kernel, call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_members = kernel_members,
    .tp_doc = "A compiled kernel: arrays and numbers in, new arrays and numbers out.",
};

static int read_kind(PyObject *item, Kind *kind)
{
    PyObject *shape;
    if (!PyArg_ParseTuple(item, "iiiO!", &kind->type, &kind->is_number, &kind->is_weak,
                          &PyTuple_Type, &shape))
        return -1;
    kind->ndim = (int)PyTuple_GET_SIZE(shape);
    if (kind->ndim > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "too many axes");
        return -1;
    }
    for (int i = 0; i < kind->ndim; i++)
        kind->dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    return PyErr_Occurred() ? -1 : 0;
}

/* bind(library path, function, kinds of arguments, of results, scratch bytes, work) */
static PyObject *bind(PyObject *module, PyObject *args)
{
    PyObject *path, *inputs, *outputs;
    const char *name;
    Py_ssize_t scratch;
    long work_;
    if (!PyArg_ParseTuple(args, "O&sO!O!nl", PyUnicode_FSConverter, &path, &name, &PyTuple_Type,
                          &inputs, &PyTuple_Type, &outputs, &scratch, &work_))
        return NULL;
    void *library = dlopen(PyBytes_AS_STRING(path), RTLD_NOW | RTLD_LOCAL);
    Py_DECREF(path);
    void *run = library ? dlsym(library, name) : NULL;
    if (run == NULL) {
        PyErr_SetString(PyExc_OSError, dlerror());
        return NULL;
    }
    const Py_ssize_t n_in = PyTuple_GET_SIZE(inputs), n_out = PyTuple_GET_SIZE(outputs);
    if (n_in + n_out > MOST) {
        PyErr_SetString(PyExc_ValueError, "too many arguments and results");
        return NULL;
    }
    Kernel *self = PyObject_New(Kernel, &KernelType);
    if (self == NULL)
        return NULL;
    self->call = kernel_call;
    self->run = (void (*)(void **, const struct host *))run;
    self->n_in = (int)n_in;
    self->n_out = (int)n_out;
    self->scratch = (size_t)scratch;
    self->work = work_;
    self->name = PyUnicode_FromString(name);
    self->kinds = calloc((size_t)(n_in + n_out) + 1, sizeof(Kind));
    if (self->kinds == NULL || self->name == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n_in + n_out; i++) {
        PyObject *item = i < n_in ? PyTuple_GET_ITEM(inputs, i)
                                  : PyTuple_GET_ITEM(outputs, i - n_in);
        if (read_kind(item, &self->kinds[i]) < 0) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

/* set_threads(n, least work that is shared) */
static PyObject *set_threads(PyObject *module, PyObject *args)
{
    long n;
    if (!PyArg_ParseTuple(args, "l|l", &n, &worth_threads))
        return NULL;
    n_threads = n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : (int)n;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_VARARGS, "A kernel of a compiled library."},
    {"set_threads", set_threads, METH_VARARGS, "How many threads share large kernels."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "wengert_native", NULL, -1,
                                        methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_wengert_native(void)
{
    import_array();
    if (PyType_Ready(&KernelType) < 0)
        return NULL;
    pthread_atfork(NULL, NULL, after_fork_in_child);
    return PyModule_Create(&definition);
}
