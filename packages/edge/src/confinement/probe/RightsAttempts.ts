/**
 * Attempts to reach processes of the host, to use rights, and to reach the kernel by system calls that no run has. They change nothing, also where
 * they succeed.
 */
import * as fs from "node:fs"
import { join } from "node:path"
import { type Attempts, expectTrue, runShell } from "./Attempts.ts"

const processes = (): ReadonlyArray<string> => fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))

const textOf = (path: string): string => {
  try {
    return fs.readFileSync(path, "latin1")
  } catch {
    return ""
  }
}

const isOpenForWriting = (path: string): boolean => {
  try {
    fs.accessSync(path, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** A process of the host. `word` is in its command line and in that of no other process. */
export interface HostProcess {
  readonly pid: number
  readonly word: string
}

export const processAttempts = ({ pid, word }: HostProcess): Attempts => ({
  "see a process of this machine": () =>
    expectTrue(processes().some((name) => textOf(`/proc/${name}/cmdline`).includes(word))),
  "signal a process of this machine": () => {
    // The number may be that of an own process.
    const commandLine = textOf(`/proc/${pid}/cmdline`)
    expectTrue(commandLine === "" || commandLine.includes(word))
    process.kill(pid, 0)
  }
})

/** Paths of the host are only asked about: nothing opens them for writing. */
export const rightsAttempts: Attempts = {
  "a user namespace": () => runShell("unshare -U true"),
  "a user namespace with a mount": () => runShell("unshare -Urm true"),
  "a device of the host": () =>
    expectTrue(
      ["mem", "kmsg", "sda", "vda", "nvme0n1", "fuse", "kvm"].some((name) => fs.existsSync(`/dev/${name}`))
    ),
  "writable settings of the kernel": () =>
    expectTrue(
      ["kernel/hostname", "kernel/core_pattern", "vm/drop_caches", "net/ipv4/ip_forward", "fs/file-max"].some(
        (name) => isOpenForWriting(`/proc/sys/${name}`)
      )
    ),
  capabilities: () => expectTrue(!/CapEff:\s+0+\n/.test(textOf("/proc/self/status"))),
  "new rights": () => expectTrue(!/NoNewPrivs:\s+1\n/.test(textOf("/proc/self/status")))
}

/** A file or folder of the host, and which one it is: a run may have an own one of that name. */
interface HostPath {
  readonly path: string
  readonly id: string
}

/** By attempt. */
export type HostPaths = Readonly<Record<string, ReadonlyArray<HostPath>>>

/** Identity of what is at a path. `undefined` if nothing is. */
export const fileIdentity = (path: string): string | undefined => {
  try {
    const { dev, ino } = fs.statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

const isReadable = (path: string): boolean => {
  try {
    // A pipe without a writer does not wait.
    fs.closeSync(fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK))
    return true
  } catch {
    return false
  }
}

const attemptsOn = (paths: HostPaths, isPossible: (path: string) => boolean): Attempts =>
  Object.fromEntries(
    Object.entries(paths).map(([name, each]) => [
      name,
      () => expectTrue(each.some(({ id, path }) => fileIdentity(path) === id && isPossible(path)))
    ])
  )

/** Opens files and folders of the host that no run reads. */
export const readAttempts = (paths: HostPaths): Attempts => attemptsOn(paths, isReadable)

/** Asks whether files and folders of the host could be written. */
export const openAttempts = (paths: HostPaths): Attempts => attemptsOn(paths, isOpenForWriting)

/** Numbers for x64 and arm64, and the arguments. */
type ProbedCall = readonly [x64: number, arm64: number, ...values: ReadonlyArray<number>]

/** Errors of a call that did not reach its code in the kernel: not permitted, no such call, no such family. */
const REFUSED = [1, 38, 97]

const calls: Readonly<Record<string, ProbedCall>> = {
  "the keyring of the session": [250, 219, 0, -3, 0],
  "a key for the session": [248, 217, 0, 0, 0, 0, -3],
  "a request for a key": [249, 218, 0, 0, 0, 0],
  "a program in the kernel": [321, 280, 9_999, 0, 0],
  "counters of the processor": [298, 241, 0, 0, -1, -1, 0],
  "page faults in another process": [323, 282, 1],
  "the log of the kernel": [103, 116, 10, 0, 0],
  io_uring: [425, 425, 0, 0],
  "an open with a structure": [437, 437, -100, 0, 0, 0],
  "a socket between virtual machines": [41, 198, 40, 1, 0],
  "a socket of the kernel's ciphers": [41, 198, 38, 5, 0],
  "a call of another architecture": [0x40000000 + 39, 0x40000000 + 39]
}

/** By the first interpreter of this machine. Exits with 0 if the call reached the kernel. */
const scriptOf = ([x64, arm64, ...values]: ProbedCall): string => {
  const list = [process.arch === "arm64" ? arm64 : x64, ...values].join(",")
  const refused = REFUSED.join("|")
  return `if command -v perl >/dev/null; then exec perl -e 'exit(syscall(${list}) < 0 && ($!+0) =~ /^(${refused})$/ ? 1 : 0)'; fi
command -v python3 >/dev/null || exit 127
exec python3 -c 'import ctypes,sys
c=ctypes.CDLL(None,use_errno=True)
v=[ctypes.c_long(each) for each in (${list},)]
sys.exit(c.syscall(*v)<0 and ctypes.get_errno() in (${REFUSED.join(",")}))'`
}

const isSetId = (path: string): boolean => (fs.statSync(path).mode & 0o6000) !== 0

/** Files whose program would run with the user or the group of the file, in a folder that the program may write. */
const setIdAttempts = (folder: string): Attempts => {
  const place = (name: string) => join(folder, name)
  const copied = (name: string) => {
    fs.copyFileSync("/bin/sh", place(name))
    return place(name)
  }
  const attempt = (make: () => string) => () => {
    const path = make()
    try {
      expectTrue(isSetId(path))
    } finally {
      fs.rmSync(path, { force: true })
    }
  }
  return {
    "a program of another user by chmod": attempt(() => {
      const path = copied("user")
      fs.chmodSync(path, 0o4755)
      return path
    }),
    "a program of another group by chmod": attempt(() => {
      const path = copied("group")
      runShell(`chmod g+s '${path}'`)
      return path
    }),
    "a program of another user by an open file": attempt(() => {
      const fd = fs.openSync(copied("open"), "r+")
      try {
        fs.fchmodSync(fd, 0o6755)
      } finally {
        fs.closeSync(fd)
      }
      return place("open")
    }),
    "a program of another user by its first mode": attempt(() => {
      fs.closeSync(fs.openSync(place("created"), "wx", 0o4755))
      return place("created")
    }),
    "a program of another user by install": attempt(() => {
      runShell(`install -m 4755 /bin/sh '${place("installed")}'`)
      return place("installed")
    })
  }
}

/** Attempts by system calls. Their arguments change nothing, also where the calls succeed. `folder`: one that the program may write. */
export const callAttempts = (folder: string): Attempts => ({
  ...Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, () => runShell(scriptOf(call))])),
  "the user's keyrings in /proc": () => expectTrue(fs.readFileSync("/proc/keys", "latin1") !== ""),
  ...setIdAttempts(folder)
})
