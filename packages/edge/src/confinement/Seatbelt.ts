/**
 * Confinement by Seatbelt, through `sandbox-exec` of macOS: files, services of the system, and the network. Untested on hardware (ADR 64). A probe tries it once on this machine.
 *
 * The run shares the network of the machine. It connects to a port of this machine with the proxy, for which it has credentials.
 *
 * Guarantees: what no rule of the profile allows is refused. The last rule for a path counts, as in the list of the run. A protected path cannot be replaced by renaming a folder around it. A
 * run connects to its proxy, to ports of this machine that its owner lists, and to its own socket files.
 */
import { Effect, type Scope } from "effect"
import { realpathSync } from "node:fs"
import { createServer } from "node:net"
import { dirname } from "node:path"
import { openLoopbackNetwork } from "../network/RunNetwork.ts"
import { listening } from "../network/RunProxy.ts"
import { isWithin } from "../workspace/PathText.ts"
import {
  type ConfinementMeans,
  HIDDEN_CHECK,
  type MeansTrial,
  type MissingMeans,
  runTrial,
  type TrialShell
} from "./Means.ts"
import { type Mount, type PathRule, pathRules, privateCaches } from "./Mount.ts"
import { variablesOfProxy } from "./NetworkBridge.ts"

// Strings in a profile of Seatbelt, whose language is a dialect of Scheme. Pure.

/** A control character has no safe form in all versions of the language. */
const hasControls = (text: string): boolean =>
  [...text].some((character) => character < " " || character === "\u007f")

/** The text between double quotes. Throws if it cannot be in a profile. */
export const seatbeltString = (text: string): string => {
  if (hasControls(text)) throw new Error("A path with a control character cannot be in a Seatbelt profile.")
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`
}

// What every confined program of macOS needs from the system: its own processes, facts about the machine, user names, terminals, and the
// folders of the system. Data.
//
// Not listed: the Keychain, the service that verifies certificates, DNS, Apple events, launch services, the clipboard, and facts about other
// processes.

const names = (filter: string, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.map((value) => `(${filter} "${value}")`)

const FACTS = [
  ...names("sysctl-name-prefix", ["hw.", "machdep.cpu.", "kern.os", "net.routetable."]),
  ...names("sysctl-name", [
    "kern.argmax",
    "kern.hostname",
    "kern.maxfiles",
    "kern.maxfilesperproc",
    "kern.maxproc",
    "kern.ngroups",
    "kern.secure_kernel",
    "kern.tcsm_available",
    "kern.tcsm_enable",
    "kern.usrstack64",
    "kern.version",
    "machdep.ptrauth_enabled",
    "security.mac.lockdown_mode_state",
    "sysctl.proc_cputype",
    "vm.loadavg"
  ])
]

/** Services: names of users and groups, preferences, logs, and the folder for temporary files. */
const SERVICES = names("global-name", [
  "com.apple.system.opendirectoryd.libinfo",
  "com.apple.system.opendirectoryd.membership",
  "com.apple.cfprefsd.agent",
  "com.apple.cfprefsd.daemon",
  "com.apple.system.logger",
  "com.apple.logd",
  "com.apple.system.notification_center",
  "com.apple.bsd.dirhelper"
])

/** Folders that programs read. */
const seatbeltFolders: ReadonlyArray<string> = [
  "/usr",
  "/bin",
  "/sbin",
  "/System",
  "/Library/Apple",
  "/Library/Developer",
  "/Library/Frameworks",
  "/Library/Java",
  "/Applications/Xcode.app",
  "/opt",
  "/nix/store",
  "/private/etc",
  "/private/var/select",
  "/private/var/db/timezone",
  "/private/var/db/dyld",
  "/private/var/db/xcode_select_link"
]

const usedDevices = names("literal", [
  "/dev/null",
  "/dev/zero",
  "/dev/tty",
  "/dev/ptmx",
  "/dev/dtracehelper"
]).join(" ")

/** Rules for the system, without those for folders. */
const seatbeltSystem: ReadonlyArray<string> = [
  "(version 1)",
  "(deny default)",
  "(allow process-exec process-fork)",
  "(allow signal process-info* (target same-sandbox))",
  `(allow sysctl-read ${FACTS.join(" ")})`,
  '(allow sysctl-write (sysctl-name "kern.tcsm_enable"))',
  `(allow mach-lookup ${SERVICES.join(" ")})`,
  "(allow user-preference-read)",
  '(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center") (ipc-posix-name-prefix "apple.cfprefs."))',
  "(allow ipc-posix-sem)",
  "(allow pseudo-tty)",
  '(allow file-read* (literal "/") (literal "/dev/random") (literal "/dev/urandom") (subpath "/dev/fd"))',
  `(allow file-read* file-write-data file-ioctl ${usedDevices})`,
  '(allow file-read* file-write-data file-ioctl (regex #"^/dev/ttys[0-9]+$"))',
  '(allow file-write-data (subpath "/dev/fd"))',
  '(allow file-read-metadata (literal "/etc") (literal "/tmp") (literal "/var") (literal "/dev"))'
]

const READ = "file-read* file-map-executable"

const subpath = (path: string): string => `(subpath ${seatbeltString(path)})`
const literal = (path: string): string => `(literal ${seatbeltString(path)})`

/** Programs look up the folders around a path. They do not list them. */
const visible = (path: string): string =>
  `(allow file-read-metadata (path-ancestors ${seatbeltString(path)}))`

const fileRules = ({ access, path }: PathRule): ReadonlyArray<string> => {
  switch (access) {
    case "read":
      return [visible(path), `(allow ${READ} ${subpath(path)})`, `(deny file-write* ${subpath(path)})`]
    case "write":
      return [visible(path), `(allow ${READ} file-write* ${subpath(path)})`]
    case "none":
      return [`(deny ${READ} file-write* ${subpath(path)})`]
  }
}

/** Folders between a protected path and the folder around it that the run writes. */
const foldersAround = (path: string, writable: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (
    let folder = dirname(path);
    writable.some((each) => isWithin(each, folder));
    folder = dirname(folder)
  ) {
    found.push(folder)
    if (folder === dirname(folder)) break
  }
  return found
}

/** A folder with something protected in it stays where it is. */
const fixedFolders = (rules: ReadonlyArray<PathRule>): ReadonlyArray<string> => {
  const writable = rules.flatMap(({ access, path }) => (access === "write" ? [path] : []))
  const folders = rules.flatMap(({ access, path }) =>
    access === "write" ? [] : foldersAround(path, writable)
  )
  return [...new Set(folders)].map((folder) => `(deny file-write-unlink ${literal(folder)})`)
}

/** What the profile depends on. All paths are real paths, because Seatbelt compares them. */
export interface SeatbeltFacts {
  readonly rules: ReadonlyArray<PathRule>
  /** Folder in which the run may have socket files. */
  readonly temporary: string
  /** Ports of this machine, with that of the run's proxy. */
  readonly ports: ReadonlyArray<number>
}

const networkRules = ({ ports, temporary }: SeatbeltFacts): ReadonlyArray<string> => [
  ...ports.map((port) => `(allow network-outbound (remote ip "localhost:${port}"))`),
  '(allow network-bind network-inbound (local ip "localhost:*"))',
  "(allow system-socket (socket-domain AF_UNIX))",
  `(allow network-bind (local unix-socket ${subpath(temporary)}))`,
  `(allow network-outbound (remote unix-socket ${subpath(temporary)}))`
]

/** The profile. Throws if a path cannot be in one. */
export const seatbeltProfile = (facts: SeatbeltFacts): string =>
  [
    ...seatbeltSystem,
    ...seatbeltFolders.flatMap((path) => fileRules({ access: "read", path })),
    ...facts.rules.flatMap(fileRules),
    ...fixedFolders(facts.rules),
    ...networkRules(facts),
    ""
  ].join("\n")

// Whether `sandbox-exec` limits programs on this machine, found by trying it once: a shell must start with the profile of a run, write the one
// folder that it may write, fail to write another one and to read a third, reach one port of this machine, and fail to reach another.

/** Part of macOS. Another one on the PATH is not tried. */
const PROGRAM = "/usr/bin/sandbox-exec"

/** The port that the shell may reach, and another one. */
const PORT_CHECKS = [
  '/usr/bin/nc -z -w 5 127.0.0.1 "$4" 2>/dev/null || exit 6',
  '/usr/bin/nc -z -w 5 127.0.0.1 "$5" 2>/dev/null && exit 7'
]

const missing = (cause: string): MissingMeans => ({
  problem: `Seatbelt does not work here: ${cause.slice(0, 200)}.`,
  hint: "Corral confines runs with sandbox-exec of macOS, and was not tested with every version. Please report this message."
})

/** A port on which every connection is accepted. */
const openPort: Effect.Effect<number, string, Scope.Scope> = Effect.gen(function* () {
  const server = createServer((socket) => void socket.on("error", () => undefined).end())
  yield* listening(server, { host: "127.0.0.1", port: 0 })
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
})

/** Tries it. Gives its path if it works. `program`: another one, for tests. */
export const probeSeatbelt = (program = PROGRAM): Effect.Effect<string | MissingMeans> => {
  const trial = runTrial(
    Effect.fnUntraced(function* ({ readable, writable }) {
      const [allowed, refused] = [yield* openPort, yield* openPort]
      const profile = seatbeltProfile({
        rules: [
          { access: "write", path: writable },
          { access: "read", path: readable }
        ],
        temporary: writable,
        ports: [allowed]
      })
      return {
        program,
        args: ({ args, file }: TrialShell) => ["-p", profile, "--", file, ...args],
        checks: [HIDDEN_CHECK, ...PORT_CHECKS],
        parameters: [String(allowed), String(refused)]
      }
    })
  )
  return Effect.map(trial, (cause) => (cause === undefined ? program : missing(cause)))
}

/** The path without links: Seatbelt compares real paths. A path that does not exist is unchanged. */
const realPath = (path: string): string => {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

/** Mounts with real paths, so that their order is that of the real folders. */
const withRealPaths = (mounts: ReadonlyArray<Mount>): ReadonlyArray<Mount> =>
  mounts.map((mount) =>
    mount.kind === "link" || mount.kind === "folder" ? mount : { ...mount, path: realPath(mount.path) }
  )

/** The means with this `sandbox-exec`. */
export const seatbeltOf = (program: string): ConfinementMeans => ({
  kind: "seatbelt",
  network: "closed",
  isolate: ({ args, file }, mounts) => {
    const profile = seatbeltProfile({ rules: pathRules(withRealPaths(mounts)), temporary: "/tmp", ports: [] })
    return { file: program, args: ["-p", profile, "--", file, ...args] }
  },
  confine: Effect.fnUntraced(function* ({ command, mounts, network }) {
    const { ports, proxy } = yield* openLoopbackNetwork(network)
    const temporary = realPath(command.temporary ?? command.cwd)
    return yield* Effect.try({
      try: () => {
        const profile = seatbeltProfile({ rules: pathRules(withRealPaths(mounts)), temporary, ports })
        const env = {
          ...command.env,
          ...variablesOfProxy(proxy, network.declared),
          ...privateCaches(temporary)
        }
        const args = ["-p", profile, "--", command.file, ...command.args]
        return { command: { ...command, file: program, args, env }, ports: undefined }
      },
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    })
  })
})

/** Seatbelt, if `sandbox-exec` limits programs on this machine. */
export const trySeatbelt: MeansTrial = () =>
  Effect.map(probeSeatbelt(), (found) => (typeof found === "string" ? seatbeltOf(found) : found))
