/**
 * What the probe's program tries to reach: the folders of one mode's attempts (a workspace with a repository, a folder that the run does not see,
 * one that it may only read, and the run's own), servers on loopback addresses and sockets, sockets and pipes in the folders that a run sees, a
 * folder on PATH with files next to its programs, and a process. Also what the program receives, and what it prints.
 *
 * All of it belongs to the probe, is in its folder, and ends with the scope.
 */
import type { RunMode } from "@corral/domain/run/Run"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import { createSocket } from "node:dgram"
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync
} from "node:fs"
import { type AddressInfo, createServer, type ListenOptions } from "node:net"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { HostServers, VisiblePlaces } from "./NetworkAttempts.ts"
import type { HostPaths, HostProcess } from "./RightsAttempts.ts"
import { listening } from "../../network/RunProxy.ts"
import { callProgram } from "../../process/ProgramCall.ts"
import { canWrite } from "../ConfinedRoot.ts"
import { makeState } from "./FileAttempts.ts"

interface Place {
  readonly folder: string
  readonly file: string
}

export interface EscapeTargets {
  /** Files that the run does not see. */
  readonly hidden: Place
  /** Files that the run may read. */
  readonly shown: Place
  readonly workspace: { readonly path: string; readonly isWritable: boolean }
  /** Folders that the run may write, one for each kind of attempts. */
  readonly writable: {
    readonly hidden: string
    readonly shown: string
    readonly workspace: string
    readonly calls: string
  }
  /** Folder of the state of a runtime. */
  readonly state: string
  readonly host: HostProcess
  readonly servers: HostServers
  readonly visible: VisiblePlaces
  /** Socket file of the probe. */
  readonly socket: string
  /** Paths of the user and the system that no run reads or writes. */
  readonly read: HostPaths
  readonly opened: HostPaths
}

/** By kind, then by attempt. */
export type EscapeResults = Readonly<Record<string, Readonly<Record<string, string>>>>

/** A line for each entry, with its permissions and what it contains. Paths begin after `root`. */
export const folderContents = (
  root: string,
  folder: string = root,
  isLeftOut: (path: string) => boolean = () => false
): ReadonlyArray<string> => {
  const lines: Array<string> = []
  const visit = (path: string): void => {
    if (isLeftOut(path)) return
    const stat = lstatSync(path)
    const name = path.slice(root.length)
    const mode = (stat.mode & 0o7777).toString(8)
    if (stat.isSymbolicLink()) lines.push(`${name} -> ${readlinkSync(path)}`)
    else if (stat.isDirectory()) {
      lines.push(`${name}/ ${mode}`)
      for (const entry of readdirSync(path).toSorted()) visit(join(path, entry))
    } else if (stat.isFile()) {
      const hash = createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, 16)
      lines.push(`${name} ${mode} ${stat.uid} ${stat.nlink} ${hash}`)
    } else lines.push(`${name} special`)
  }
  visit(folder)
  return lines
}

export interface EscapeServers {
  readonly servers: HostServers
  readonly host: HostProcess
  /** Connections and packets that arrived so far. */
  readonly arrivals: () => number
  /** Counts one more. */
  readonly arrive: () => void
}

/** Port of nothing, where this machine has no IPv6. */
const NO_PORT = 1

const portOf = (address: AddressInfo | string | null): number =>
  typeof address === "object" && address !== null ? address.port : NO_PORT

const listen = (
  options: ListenOptions,
  onArrival: () => void
): Effect.Effect<number, string, Scope.Scope> => {
  const server = createServer((socket) => {
    onArrival()
    socket.on("error", () => undefined)
    socket.end("reached")
  })
  const started = Effect.callback<number, string>((resume) => {
    server.once("error", (error) => resume(Effect.fail(String(error))))
    server.listen(options, () => resume(Effect.succeed(portOf(server.address()))))
  })
  return Effect.acquireRelease(started, () => Effect.sync(() => void server.close()))
}

const listenUdp = (onArrival: () => void): Effect.Effect<number, string, Scope.Scope> => {
  const server = createSocket("udp4", (_, from) => {
    onArrival()
    server.send("reached", from.port, from.address)
  })
  const started = Effect.callback<number, string>((resume) => {
    server.once("error", (error) => resume(Effect.fail(String(error))))
    server.bind(0, "127.0.0.1", () => resume(Effect.succeed(server.address().port)))
  })
  return Effect.acquireRelease(started, () => Effect.sync(() => void server.close()))
}

/** A shell that waits for its stdin, which ends with this process. */
const startProcess: Effect.Effect<HostProcess, string, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const word = randomUUID()
    const child = spawn("/bin/sh", ["-c", "read -r _; exit 0", word], { stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", () => undefined)
    child.stdin.on("error", () => undefined)
    return { child, word }
  }),
  ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
).pipe(
  Effect.flatMap(({ child: { pid }, word }) =>
    pid === undefined ? Effect.fail("/bin/sh does not start") : Effect.succeed({ pid, word })
  )
)

/** Starts them. `socket`: path of the socket file. */
export const openServers = Effect.fnUntraced(function* (
  socket: string
): Effect.fn.Return<EscapeServers, string, Scope.Scope> {
  let arrivals = 0
  const count = () => void arrivals++
  const abstract = `corral-probe-${randomUUID()}`
  const tcp4 = yield* listen({ port: 0, host: "127.0.0.1" }, count)
  const tcp6 = yield* Effect.orElseSucceed(listen({ port: 0, host: "::1" }, count), () => NO_PORT)
  const udp = yield* listenUdp(count)
  yield* listen({ path: `\0${abstract}` }, count)
  yield* listen({ path: socket }, count)
  return {
    servers: { ports: { tcp4, tcp6, udp }, abstract, hostNetwork: readlinkSync("/proc/self/ns/net") },
    host: yield* startProcess,
    arrivals: () => arrivals,
    arrive: count
  }
})

/** One file beside the bundle in a build, and several in the sources. */
const programFiles = (): ReadonlyArray<string> => {
  const built = fileURLToPath(new URL("./escapes.mjs", import.meta.url))
  return existsSync(built)
    ? [built]
    : ["EscapeProgram.ts", "Attempts.ts", "FileAttempts.ts", "NetworkAttempts.ts", "RightsAttempts.ts"].map(
        (name) => fileURLToPath(new URL(name, import.meta.url))
      )
}

const write = (path: string, content: string): void => {
  makeFolder(dirname(path), 0o755)
  writeFileSync(path, content)
}

/** What a run that writes the workspace does not write. */
const PROTECTED = [
  ".git/config",
  ".git/hooks",
  ".git/info",
  ".vscode",
  ".zed",
  "packages/a/.vscode",
  "tools/diff.sh"
]

interface EscapeScene {
  readonly workspace: string
  readonly temporary: string
  /** Folder with the program. The run may read it. */
  readonly program: string
  readonly targets: Pick<EscapeTargets, "hidden" | "shown" | "state" | "workspace" | "writable">
  /** Arguments of Node for the program. */
  readonly argumentsFor: (targets: EscapeTargets) => ReadonlyArray<string>
  /** What the run may not change. */
  readonly contents: () => ReadonlyArray<string>
  /** What is in the user's state of the runtime. */
  readonly stateContents: () => ReadonlyArray<string>
}

/** Makes the folders in `folder`. */
export const makeScene = (folder: string, mode: RunMode): EscapeScene => {
  const [workspace, outside, shown, state, temporary] = [
    join(folder, "workspace"),
    join(folder, "outside"),
    join(folder, "program"),
    join(folder, "state"),
    join(folder, "run")
  ]
  write(join(workspace, "file.txt"), "kept")
  write(join(workspace, ".vscode", "settings.json"), "{}")
  write(join(workspace, ".zed", "settings.json"), "{}")
  write(join(workspace, ".git", "HEAD"), "ref: refs/heads/main\n")
  const settings = "[core]\n\trepositoryformatversion = 0\n[diff]\n\texternal = ./tools/diff.sh\n"
  write(join(workspace, ".git", "config"), settings)
  write(join(workspace, ".git", "info", "exclude"), "")
  write(join(workspace, "tools", "diff.sh"), "exit")
  write(join(workspace, "packages", "a", ".vscode", "settings.json"), "{}")
  for (const name of ["hooks", "objects", "refs"]) mkdirSync(join(workspace, ".git", name))
  for (const place of [outside, shown]) write(join(place, "kept.txt"), "kept")
  makeState(state, write)
  const files = programFiles()
  for (const file of files) copyFileSync(file, join(shown, basename(file)))
  // Each kind of attempts makes files of the same names.
  const writable = {
    hidden: join(temporary, "hidden"),
    shown: join(temporary, "shown"),
    workspace: join(temporary, "workspace"),
    calls: join(temporary, "calls")
  }
  for (const each of Object.values(writable)) makeFolder(each, 0o755)
  const isWritable = canWrite(mode)
  const watched = [outside, shown, ...(isWritable ? PROTECTED : [""]).map((name) => join(workspace, name))]
  return {
    workspace,
    temporary,
    program: shown,
    argumentsFor: (targets) => {
      // Not an argument itself: it names the process that the program looks for.
      const file = join(shown, "targets.json")
      writeFileSync(file, JSON.stringify(targets))
      return [join(shown, basename(files[0] ?? "")), file]
    },
    targets: {
      hidden: { folder: outside, file: join(outside, "kept.txt") },
      shown: { folder: shown, file: join(shown, "kept.txt") },
      state,
      workspace: { path: workspace, isWritable },
      writable
    },
    stateContents: () => folderContents(folder, state),
    contents: () =>
      watched.flatMap((each) => (existsSync(each) ? folderContents(folder, each) : [`${each} is missing`]))
  }
}

interface VisibleScene {
  readonly places: VisiblePlaces
  /** The folder for PATH. */
  readonly programs: string
}

const PATH = "/usr/bin:/bin"
/** Longest path of a socket. */
const MAX_SOCKET_PATH = 103

const placesIn = (folder: string, workspace: string) => ({
  "the workspace": workspace,
  "installed packages of the workspace": join(workspace, "node_modules", "a"),
  "the folder around programs on PATH": join(folder, "tools"),
  "libraries of programs on PATH": join(folder, "tools", "lib")
})

const named = (folders: Readonly<Record<string, string>>, what: string, name: string) =>
  Object.fromEntries(
    Object.entries(folders).map(([place, folder]) => [`${what} in ${place}`, join(folder, name)])
  )

const openSocket = (path: string, onArrival: () => void) =>
  path.length > MAX_SOCKET_PATH
    ? Effect.void
    : listening(
        createServer((socket) => {
          onArrival()
          socket.on("error", () => undefined)
          socket.end("reached")
        }),
        path
      )

const openReader = (path: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)),
      (fd) => Effect.sync(() => closeSync(fd))
    )
  )

/** Makes the sockets, pipes and files that a run sees in the folders of one mode, until the scope closes. */
export const openVisible = Effect.fnUntraced(function* (
  folder: string,
  workspace: string,
  onArrival: () => void
): Effect.fn.Return<VisibleScene, string, Scope.Scope> {
  const folders = placesIn(folder, workspace)
  const programs = join(folder, "tools", "bin")
  for (const each of [...Object.values(folders), programs]) makeFolder(each, 0o755)
  const program = join(programs, "program")
  writeFileSync(program, "#!/bin/sh\n")
  chmodSync(program, 0o755)
  const files = {
    "a file next to programs on PATH": join(programs, "key"),
    "a file around programs on PATH": join(dirname(programs), "config.json")
  }
  for (const file of Object.values(files)) writeFileSync(file, "secret")
  const [sockets, pipes] = [named(folders, "a socket", "s"), named(folders, "a pipe", "p")]
  for (const path of Object.values(sockets)) yield* openSocket(path, onArrival)
  yield* callProgram({ program: "/usr/bin/mkfifo", args: Object.values(pipes), env: { PATH }, cwd: "/" })
  for (const path of Object.values(pipes)) yield* openReader(path)
  return { programs, places: { sockets, pipes, files } }
})
