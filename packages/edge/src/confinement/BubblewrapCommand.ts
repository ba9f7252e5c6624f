/**
 * Command line of bubblewrap for a confined program. Pure.
 *
 * - The program has no capabilities, also if the Edge is root, and cannot create a namespace in which it would have some.
 * - `/proc` and `/dev` are read-only: root owns the files of `/proc/sys` without any capability.
 * - The program's network has only its own loopback addresses.
 * - The program has its own session, so that signals for it do not reach bubblewrap, which would end it without a grace period.
 * - The program does not end with the Edge, as without a confinement: the next start ends it. The first process of its process namespace, a
 *   child of bubblewrap, has the marks of the run, and the kernel ends all others with it.
 */
import { mountArguments, type Mount } from "./Mount.ts"

/** Largest amount of shared memory of a run, in bytes. */
const SHARED_MEMORY = 268_435_456

const FIRST_FLAG = "--unshare-user"
const flags = [
  FIRST_FLAG,
  "--disable-userns",
  "--unshare-net",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--cap-drop",
  "ALL",
  "--new-session"
]

const devices = ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
const sharedMemory = ["--size", String(SHARED_MEMORY), "--perms", "1777", "--tmpfs", "/dev/shm"]

export interface BubblewrapOptions {
  readonly mounts: ReadonlyArray<Mount>
  readonly cwd: string
  readonly file: string
  readonly args: ReadonlyArray<string>
}

/** Arguments of bubblewrap. */
export const bubblewrapArguments = ({
  args,
  cwd,
  file,
  mounts
}: BubblewrapOptions): ReadonlyArray<string> => [
  ...flags,
  // Before the mounts: a workspace may be below `/dev/shm`.
  ...devices,
  ...sharedMemory,
  ...mountArguments(mounts),
  "--remount-ro",
  "/dev",
  "--remount-ro",
  "/",
  "--chdir",
  cwd,
  "--",
  file,
  ...args
]

/** The arguments of a command with bubblewrap among them, with one more flag. */
export const withFlag = (args: ReadonlyArray<string>, flag: string): ReadonlyArray<string> =>
  args.toSpliced(args.indexOf(FIRST_FLAG), 0, flag)
