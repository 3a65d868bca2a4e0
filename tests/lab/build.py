"""The guest: modules built out of tree, the programs, one initramfs for each kernel."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from .paths import CACHE, GUEST, LabError, run, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from .arches import Arch
    from .debian import Kernel

MODULES = [
    "virtio_pci",
    "virtio_net",
    "virtio_console",
    "virtio_blk",
    "qemu_fw_cfg",
    "crc32_generic",
    "crc32c_generic",
    "crc32c_intel",
    "libcrc32c",
    "crct10dif_generic",
    "ib_core",
    "ib_cm",
    "iw_cm",
    "ib_uverbs",
    "rdma_ucm",
    "rdma_cm",
    "rdma_rxe",
    "rds",
    "rds_rdma",
    "rds_tcp",
    "configfs",
    "nvme_core",
    "nvme_fabrics",
    "nvme_rdma",
    "brd",
    "nvmet",
    "nvmet_rdma",
    "rpcrdma",
    "nfsd",
    "nfsv4",
    "sd_mod",
    "target_core_mod",
    "ib_srp",
    "ib_srpt",
    "ib_iser",
    "ib_isert",
    "sch_netem",
    "9pnet_virtio",
    "9p",
    "overlay",
]
CRASH_MODULES = ("virtio_pci", "virtio_blk")
PROGRAMS = ("rdma", "ip", "tc", "nvme", "iscsistart", "kmod", "kexec")
APPLETS = ("modprobe", "insmod", "rmmod", "lsmod", "modinfo")
DECOMPRESS = {".xz": "xz", ".zst": "zstd", ".gz": "gzip"}


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    if text.count(old) != 1:
        raise LabError(f"{path}: the text to change is there {text.count(old)} times: {old[:60]!r}")
    path.write_text(text.replace(old, new))


def _labfault(kernel: Kernel, to: Path) -> None:
    shutil.copytree(GUEST / "labfault", to)


def _siw(kernel: Kernel, to: Path) -> None:
    shutil.copytree(kernel.source / "drivers/infiniband/sw/siw", to)


def _siw_60s(kernel: Kernel, to: Path) -> None:
    """As long as the hardware drivers of the classic hang take to fail a connect."""
    _siw_failing_after(60, kernel, to)


def _siw_600s(kernel: Kernel, to: Path) -> None:
    """A state that outlasts a run of the tool inside an emulated guest."""
    _siw_failing_after(600, kernel, to)


def _siw_failing_after(seconds: int, kernel: Kernel, to: Path) -> None:
    _siw(kernel, to)
    limit = "#define MPAREQ_TIMEOUT (HZ * {})"
    _replace(to / "siw_cm.h", limit.format(10), limit.format(seconds))


def _nvme_rdma_timeout(kernel: Kernel, to: Path) -> None:
    """nvme_rdma as it was before 5.19: it gives a connect three seconds and then destroys the id."""
    host = kernel.source / "drivers/nvme/host"
    to.mkdir()
    for name in ("nvme.h", "fabrics.h", "rdma.c", "trace.h"):
        shutil.copy(host / name, to)
    (to / "Kbuild").write_text("obj-m := nvme-rdma.o\nnvme-rdma-y := rdma.o\n")
    if "wait_for_completion_interruptible_timeout(&queue->cm_done" in (to / "rdma.c").read_text():
        return
    _replace(
        to / "rdma.c",
        "ret = wait_for_completion_interruptible(&queue->cm_done);\n\tif (ret)\n\t\treturn ret;\n",
        "ret = wait_for_completion_interruptible_timeout(&queue->cm_done,\n"
        "\t\t\tmsecs_to_jiffies(NVME_RDMA_CM_TIMEOUT_MS) + 1);\n"
        "\tif (ret < 0)\n\t\treturn ret;\n\tif (ret == 0)\n\t\treturn -ETIMEDOUT;\n",
    )


def _rds_rdma_waitevent(kernel: Kernel, to: Path) -> None:
    """rds_rdma as it was before the wait in shutdown was given a timeout: hung_task sees it."""
    shutil.copytree(kernel.source / "net/rds", to)
    makefile = (to / "Makefile").read_text().replace("\\\n", " ")
    objects = re.search(r"^rds_rdma-y\s*:=(.*)$", makefile, re.MULTILINE)
    if not objects:
        raise LabError(f"{to}/Makefile: no rds_rdma-y")
    (to / "Makefile").unlink()
    (to / "Kbuild").write_text(f"obj-m := rds_rdma.o\nrds_rdma-y := {objects[1]}\n")
    source = to / "ib_cm.c"
    loop = re.search(
        r"while \(!wait_event_timeout\(rds_ib_ring_empty_wait,\s*(.*?),\s*msecs_to_jiffies\(1000\)\)\) \{.*?\n\t\t\}\n",
        source.read_text(),
        re.DOTALL,
    )
    if not loop and "wait_event(rds_ib_ring_empty_wait," in source.read_text():
        return
    if not loop:
        raise LabError(f"{source}: no wait in shutdown")
    _replace(source, loop[0], f"wait_event(rds_ib_ring_empty_wait, {loop[1]});\n")


RECIPES: dict[str, Callable[[Kernel, Path], None]] = {
    "labfault": _labfault,
    "siw": _siw,
    "siw-60s": _siw_60s,
    "siw-600s": _siw_600s,
    "nvme-rdma-timeout": _nvme_rdma_timeout,
    "rds_rdma-waitevent": _rds_rdma_waitevent,
}
WITHOUT_BTF = ("siw", "siw-60s", "nvme-rdma-timeout")


def _digest(*parts: object) -> str:
    """A stamp over texts and files: what is built is built again when it changes."""
    total = hashlib.sha256()
    for part in parts:
        for path in sorted(part.rglob("*")) if isinstance(part, Path) and part.is_dir() else [part]:
            total.update(
                path.read_bytes()
                if isinstance(path, Path) and path.is_file()
                else str(path).encode()
            )
    return total.hexdigest()


def _fresh(product: Path, stamp: str) -> bool:
    mark = product.with_name(product.name + ".stamp")
    return product.exists() and mark.exists() and mark.read_text() == stamp


def _stamp(product: Path, stamp: str) -> None:
    product.with_name(product.name + ".stamp").write_text(stamp)


def own_module(kernel: Kernel, flavour: str) -> Path:
    """Where a module of our own build lies, with its DWARF (``-nobtf`` flavours too)."""
    return kernel.root / "own" / f"{flavour}.ko"


def _add_btf(kernel: Kernel, module: Path) -> None:
    """Kbuild does it itself when the headers package has a vmlinux; not all have."""
    if " .BTF " not in run("readelf", "-SW", module):
        pahole = [*kernel.program("pahole"), "-J", "--btf_gen_floats", "--lang_exclude=rust"]
        run(
            *pahole,
            "--btf_base",
            kernel.vmlinux,
            module,
            env={**os.environ, "LLVM_OBJCOPY": kernel.arch.tool("objcopy")},
        )
    if " .BTF " not in run("readelf", "-SW", module):
        raise LabError(f"{module}: no BTF after pahole")


def _modules_have_btf(kernel: Kernel) -> bool:
    """Whether the distribution's modules have BTF: none had before 5.11."""
    path = _module_files(kernel, ["ib_core"])["ib_core"]
    return (
        b"\0.BTF\0"
        in subprocess.run([*_unpacker(path), path], stdout=subprocess.PIPE, check=True).stdout
    )


def modules(kernel: Kernel) -> None:
    """Build the modules of our own and give them BTF."""
    for flavour, prepare in RECIPES.items():
        stamp = _stamp_of(kernel, flavour, prepare)
        if not _fresh(own_module(kernel, flavour), stamp):
            _build(kernel, flavour, prepare)
            _stamp(own_module(kernel, flavour), stamp)


def _stamp_of(kernel: Kernel, flavour: str, prepare: Callable[[Kernel, Path], None]) -> str:
    """A module is built again when its recipe changes; delete it when a recipe that this one uses does."""
    sources = [GUEST / "labfault"] if flavour == "labfault" else []
    return _digest(kernel.version, inspect.getsource(prepare), inspect.getsource(_build), *sources)


def _build(kernel: Kernel, flavour: str, prepare: Callable[[Kernel, Path], None]) -> None:
    say("build", flavour, "for", kernel.release)
    at = kernel.workshop / flavour
    shutil.rmtree(at, ignore_errors=True)
    at.parent.mkdir(parents=True, exist_ok=True)
    prepare(kernel, at)
    kernel.compile(
        *("make", "-s", "-C", kernel.headers, f"M={kernel.inside(at)}"),
        *(f"LAB_SOURCE={kernel.inside(kernel.source)}", "CONFIG_RDMA_SIW=m", "modules"),
        *kernel.arch.make_options,
    )
    (built,) = at.glob("*.ko")
    with_btf = _modules_have_btf(kernel)
    if with_btf:
        _add_btf(kernel, built)
    to = own_module(kernel, flavour)
    to.parent.mkdir(exist_ok=True)
    shutil.copy(built, to)
    if flavour in WITHOUT_BTF and with_btf:
        without = own_module(kernel, f"{flavour}-nobtf")
        run(kernel.arch.tool("objcopy"), "--remove-section", ".BTF", to, without)


def _module_files(kernel: Kernel, names: tuple[str, ...] | list[str]) -> dict[str, Path]:
    """Files of modules and of all they need, by name. Built-in ones have none."""
    image = kernel.root / "image"
    if not (image / "lib").exists():
        (image / "lib").symlink_to("usr/lib")
    base = image / "lib" / "modules" / kernel.release
    if not (base / "modules.dep").exists():
        run("depmod", "-b", image, kernel.release)
    needs = {}
    for line in (base / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        needs[_name(path)] = [path, *rest.split()]
    return {_name(p): base / p for name in names for p in needs.get(name, [])}


def _name(path: str) -> str:
    return Path(path).name.split(".ko")[0].replace("-", "_")


def _put_modules(kernel: Kernel, root: Path, names: tuple[str, ...] | list[str]) -> None:
    to = root / "lib" / "modules" / kernel.release
    to.mkdir(parents=True, exist_ok=True)
    for name, path in _module_files(kernel, names).items():
        with (to / f"{name}.ko").open("wb") as data:
            run_to(data, *_unpacker(path), path)
    run("depmod", "-b", root, kernel.release)


def _unpacker(path: Path) -> list[str]:
    tool = DECOMPRESS.get(path.suffix)
    return [tool, "-dc"] if tool else ["cat"]


def run_to(file: object, *command: str | Path) -> None:
    """Run a program into an open file."""
    subprocess.run([*map(str, command)], stdout=file, check=True, timeout=60)


def _put_program(arch: Arch, root: Path, name: str) -> None:
    for target, path in arch.program(name).items():
        to = root / target
        to.parent.mkdir(parents=True, exist_ok=True)
        to.unlink(missing_ok=True)
        shutil.copy(path, to)


def _base(arch: Arch, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "sbin", "proc", "sys", "dev", "etc", "root", "own", "host"):
        (root / name).mkdir(parents=True)
    shutil.copy(arch.program("busybox")["bin/busybox"], root / "bin/busybox")
    for applet in run("/bin/busybox", "--list").split():
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")


def _link(root: Path, applet: str) -> None:
    (root / "bin" / applet).unlink(missing_ok=True)
    (root / "bin" / applet).symlink_to("kmod")


def _pack(root: Path, to: Path) -> None:
    run(
        "sh",
        "-ec",
        f"cd {root} && find . | cpio -o -H newc --quiet -R 0:0 >{to}.part && mv {to}.part {to}",
    )


def programs(arch: Arch, to: Path) -> None:
    """The guest's own small programs, linked statically."""
    for source in GUEST.glob("*.c"):
        run(arch.tool("gcc"), "-O2", "-Wall", "-static", "-o", to / source.stem, source)


def initramfs(kernel: Kernel) -> Path:
    """The initramfs of a kernel; not compressed, as emulated guests are slow at that."""
    image = kernel.root / "initramfs.cpio"
    own = [path.read_text() for path in sorted((kernel.root / "own").glob("*.stamp"))]
    stamp = _digest(kernel.version, GUEST, Path(__file__), *own)
    if _fresh(image, stamp):
        return image
    say("initramfs for", kernel.release)
    root = CACHE / "tmp-root"
    _base(kernel.arch, root)
    for name in PROGRAMS:
        _put_program(kernel.arch, root, name)
    for applet in APPLETS:
        _link(root, applet)
    for name in ("init", "lab.sh"):
        shutil.copy(GUEST / name, root / name)
    (root / "init").chmod(0o755)
    programs(kernel.arch, root / "bin")
    _put_modules(kernel, root, MODULES)
    for module in (kernel.root / "own").glob("*.ko"):
        run(kernel.arch.tool("strip"), "--strip-debug", "-o", root / "own" / module.name, module)
    _pack(root, image)
    if not kernel.arch.triplet:
        _crash_kernel(kernel, root)
    shutil.rmtree(root)
    _stamp(image, stamp)
    return image


def _crash_kernel(kernel: Kernel, root: Path) -> None:
    """What the kdump scenarios add: a kernel to load with kexec and its own small initramfs."""
    _base(kernel.arch, root)
    for name in ("kmod", "makedumpfile"):
        _put_program(kernel.arch, root, name)
    for applet in APPLETS:
        _link(root, applet)
    shutil.copy(GUEST / "init", root / "init")
    shutil.copy(GUEST / "kdump.sh", root / "kdump.sh")
    (root / "init").chmod(0o755)
    (root / "kdump.sh").chmod(0o755)
    _put_modules(kernel, root, CRASH_MODULES)
    inner = kernel.root / "crash.cpio"
    _pack(root, inner)
    run("gzip", "-1f", inner)
    shutil.rmtree(root)
    (root / "crash").mkdir(parents=True)
    shutil.copy(kernel.vmlinuz, root / "crash/vmlinuz")
    shutil.move(f"{inner}.gz", root / "crash/initrd")
    _pack(root, kernel.root / "crash.cpio")
