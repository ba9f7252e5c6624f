/**
 * Mounts of layers, each in a user namespace and a mount namespace: overlayfs over the workspace's own path, or a bind of a copy there. Programs
 * of the system make them; the kernel removes them with the last process of the namespace.
 *
 * Guarantees: options contain no path of a user, so no name changes their meaning.
 * Does not: take rights away. bubblewrap does, which starts in these namespaces.
 */
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { realpathSync } from "node:fs"
import type { IsolatedCommand } from "../workspace/Git.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import type { LayerRepositoryFiles } from "./LayerRepository.ts"

/** Files of a layer, for the confinement of a run. */
export interface LayerFiles {
  /** Where the Edge reads the files. */
  readonly look: string
  /** What is mounted at the workspace's path: that path in the namespace of `around`, or a copy. */
  readonly source: string
  /** The repository of the run; `undefined` if the workspace has none. */
  readonly repository: LayerRepositoryFiles | undefined
  /** The command in the namespace of the layer, in which it is root. */
  readonly around: ((command: IsolatedCommand) => IsolatedCommand) | undefined
}

const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/** Absolute paths of the programs. */
export interface MountPrograms {
  readonly unshare: string
  readonly nsenter: string
  readonly mount: string
}

/** `undefined` if one of them is missing. */
export const mountPrograms = (): MountPrograms | undefined => {
  const find = (name: string) => findProgram(name, SYSTEM_PATH)
  const [unshare, nsenter, mount] = [find("unshare"), find("nsenter"), find("mount")]
  return unshare === undefined || nsenter === undefined || mount === undefined
    ? undefined
    : { unshare, nsenter, mount }
}

const realPath = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** What the system loads into each program. */
const LOADED = ["/bin/sh", "/etc/ld.so.preload", "/etc/ld.so.cache", "/lib", "/lib64", "/usr/lib"]

/**
 * Files of this machine that run where a layer is mounted, and not confined: git and bubblewrap on this PATH, the programs that mount, and what these
 * load. In a workspace that has one of them, a run could replace it for the Edge.
 */
export const filesInNamespace = (path: string | undefined): ReadonlyArray<string> => {
  const found = ["git", "bwrap"].map((name) => findProgram(name, path))
  const files = [...found, ...Object.values(mountPrograms() ?? {}), ...LOADED]
  return files.flatMap((file) => (file === undefined ? [] : [file, realPath(file)]))
}

/**
 * `write`: what is written goes to the layer. `read`: also while a run writes it. `copy`: a copy instead of an overlay. `above`: what is written goes
 * to a further layer above another one.
 */
export type LayerMountKind = "write" | "read" | "copy" | "above"

/** A layer to mount. */
export interface LayerMount {
  readonly kind: LayerMountKind
  /** Folder of the layer. */
  readonly folder: string
  /** Real path of the workspace. */
  readonly root: string
  /** The upper folder of the layer below. Of `above`. */
  readonly below?: string
}

/** Real inode numbers, so that git compares the files with those of the workspace by them. */
const COMMON = "userxattr,xino=off"
const OPTIONS = {
  write: `${COMMON},lowerdir=lower,upperdir=upper,workdir=work`,
  read: `ro,${COMMON},lowerdir=upper:lower`,
  above: `${COMMON},lowerdir=below:lower,upperdir=upper,workdir=work`,
  copy: ""
}
const OVERLAY =
  'cd "$1" && "$2" --rbind "$3" lower && "$2" -t overlay overlay -o "$4" "$3" || exit 120; cd / && shift 4 && exec "$@"'
const ABOVE =
  'cd "$1" && "$2" --rbind "$3" lower && "$2" --bind "$5" below && "$2" -t overlay overlay -o "$4" "$3" || exit 120; cd / && shift 5 && exec "$@"'
const BIND = 'cd "$1" && "$2" --bind copy "$3" || exit 120; cd / && shift 4 && exec "$@"'

const NAMESPACES = ["--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c"]

/** The command with the layer at the path of its workspace. It is root in its namespace: of files, it has the rights of the Edge's user. */
export const mounted = (
  { mount, unshare }: MountPrograms,
  { below, folder, kind, root }: LayerMount,
  { args, file }: IsolatedCommand
): IsolatedCommand => ({
  file: unshare,
  args: [
    ...NAMESPACES,
    kind === "copy" ? BIND : kind === "above" ? ABOVE : OVERLAY,
    "sh",
    folder,
    mount,
    root,
    OPTIONS[kind],
    ...(kind === "above" ? [below ?? folder] : []),
    file,
    ...args
  ]
})

/** A mounted layer, for as long as its scope. */
export interface MountedLayer {
  /** Where the Edge's own code finds a path of the namespace. */
  readonly at: (path: string) => string
  /** A command in the namespaces, which sees the layer at the path of the workspace, and starts in this folder. */
  readonly enter: (folder: string) => (command: IsolatedCommand) => IsolatedCommand
}

const READY = "ready"
const KEEP = `printf ${READY} && exec cat`
const WAIT = "30 seconds"
const ENTER = ["--user", "--mount", "--", "/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh"]

/** Mounts a layer until the scope closes, or this process ends. Fails with a phrase. */
export const mountLayer = (
  programs: MountPrograms,
  layer: LayerMount
): Effect.Effect<MountedLayer, string, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(startHolder(programs, layer), ({ end }) => end),
    ({ pid }) => ({
      at: (path) => `/proc/${pid}/root${path}`,
      enter: (folder) => (command) => ({
        file: programs.nsenter,
        args: ["--target", String(pid), ...ENTER, folder, command.file, ...command.args]
      })
    })
  )

interface MountHolder {
  readonly pid: number
  /** Succeeds when the process has ended. */
  readonly end: Effect.Effect<void>
}

/** A process in the namespaces that ends with its input. */
const startHolder = (programs: MountPrograms, layer: LayerMount): Effect.Effect<MountHolder, string> =>
  Effect.callback<MountHolder, string>((resume) => {
    const { args, file } = mounted(programs, layer, { file: "/bin/sh", args: ["-c", KEEP] })
    const child = spawn(file, args, { cwd: "/", env: { PATH: SYSTEM_PATH }, stdio: ["pipe", "pipe", "pipe"] })
    const { pid } = child
    let output = ""
    let stderr = ""
    child.stdin.on("error", () => undefined)
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
      if (output === READY && pid !== undefined) resume(Effect.succeed({ pid, end: endOf(child) }))
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(0, 1_000)))
    child.once("error", (error) => resume(Effect.fail(error.message)))
    child.once("close", () => resume(Effect.fail(stderr.trim().split("\n", 1)[0] || "the mount failed")))
    return endOf(child)
  }).pipe(Effect.timeoutOrElse({ duration: WAIT, orElse: () => Effect.fail("the mount took too long") }))

const endOf = (child: ReturnType<typeof spawn>): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null)
      return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })
