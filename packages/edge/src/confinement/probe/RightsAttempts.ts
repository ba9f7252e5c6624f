/** Attempts to reach processes of the host and to use rights. They change nothing, also where they succeed. */
import * as fs from "node:fs"
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
export interface HostPath {
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
