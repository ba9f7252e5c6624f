/**
 * A machine in a folder: a workspace with a repository, a home with secrets and an agent's state, an Edge's home with another run, and files
 * outside of all of them. Starts the hostile program in it, confined as a run.
 */
import type { RunMode } from "@corral/domain/run/Run"
import type { GrantRule } from "@corral/domain/approval/Grant"
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import { Effect, Exit, Layer, Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  writeFileSync
} from "node:fs"
import { rm } from "node:fs/promises"
import { createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { EdgeConfig, type KeyEntry, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { type ConfinedRun, Confinement } from "../../src/confinement/Confinement.ts"
import { folderContents } from "../../src/confinement/probe/EscapeScene.ts"
import { NetworkAccess } from "../../src/network/NetworkAccess.ts"
import type { NetworkUser } from "../../src/network/RunNetwork.ts"
import { commandInGroup } from "../../src/process/ControlGroup.ts"
import type { ProtectedCopies } from "../../src/confinement/ProtectedCopies.ts"
import type { SubprocessSpec } from "../../src/process/Subprocess.ts"

const PATH = "/usr/local/bin:/usr/bin:/bin"
const hostile = fileURLToPath(new URL("hostile.mjs", import.meta.url))
/** Attempts that it imports. */
const shared = fileURLToPath(new URL("../../src/confinement/probe", import.meta.url))

/** Files with credentials in a home, next to what a run reads. */
const CREDENTIALS = [
  ".gitconfig",
  ".config/git/config",
  ".gem/credentials",
  ".local/share/uv/credentials/credentials.toml",
  ".dotnet/corefx/cryptography/x509stores/my/key.pfx",
  ".cargo/credentials.toml",
  ".npmrc",
  ".nvm/versions/node/v1/etc/npmrc",
  ".rd/config.json",
  "bin/key"
]
const SECRET = "s3cr3t"

/** By kind, then by attempt: `succeeded`, or why it failed. */
export type Results = Readonly<Record<string, Readonly<Record<string, string>>>>

const write = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** A user and group that own nothing. */
export interface OrdinaryUser {
  readonly uid: number
  readonly gid: number
}

/** How the Edge would find the processes of the run: by its control group, or by its marks. */
export interface CaseContainment {
  /** Path of an existing control group. */
  readonly group?: string | undefined
  /** Another group of the user, in which the program starts: an ordinary user moves processes between its own groups only. */
  readonly startGroup?: string | undefined
  readonly marks?: Readonly<Record<string, string>> | undefined
}

/** What a case adds to the network of its run. By default the run may reach nothing. */
export interface CaseNetwork {
  readonly declared?: RuntimeNetwork | undefined
  readonly hosts?: ReadonlyArray<string> | undefined
  readonly grants?: ReadonlyArray<GrantRule> | undefined
  readonly user?: NetworkUser | undefined
  readonly access?: NetworkAccess | undefined
  /** The setting for the keys of the run's variables. */
  readonly keys?: KeyEntry | undefined
  /** Further variables of the run. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** For the hostile program. */
  readonly targets?: Readonly<Record<string, unknown>> | undefined
}

const denying: NetworkUser = { ask: () => Effect.succeed("denied"), report: () => undefined }

export class ConfinedCase {
  readonly folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-confined-"))
  readonly workspace = join(this.folder, "workspace")
  readonly outside = join(this.folder, "outside")
  readonly home = join(this.folder, "home")
  readonly edge = join(this.folder, "edge")
  readonly temporary = join(this.edge, "tmp", "run_a")
  /** Copies of the protected folders, as runs of an Edge have them; `undefined`: the folders are read-only. */
  copies: ProtectedCopies | undefined
  /** The layer in which its runs write. */
  layer: ConfinedRun["layer"]
  private readonly servers: Array<Server> = []
  private readonly readers: Array<number> = []
  private readonly user: OrdinaryUser | undefined
  private readonly network: CaseNetwork
  private readonly scope = Scope.makeUnsafe()

  constructor(user?: OrdinaryUser, network: CaseNetwork = {}) {
    this.user = user
    this.network = network
    write(join(this.outside, "kept.txt"), "kept")
    write(join(this.home, ".ssh", "id_ed25519"), "secret")
    write(join(this.home, ".bashrc"), "")
    for (const name of CREDENTIALS)
      write(join(this.home, name), `[url "https://${SECRET}@host/"] insteadOf = ${SECRET}`)
    for (const name of [".rd/bin/docker", "bin/deploy"]) {
      write(join(this.home, name), "#!/bin/sh\n")
      chmodSync(join(this.home, name), 0o755)
    }
    write(join(this.home, ".agent", "settings.json"), "{}")
    write(join(this.home, ".agent", "hooks", "stop.sh"), "")
    write(join(this.edge, "edge.token"), "token")
    write(join(this.edge, "tmp", "run_b", "file"), "sibling")
    mkdirSync(this.temporary)
    for (const name of ["file.txt", "removed.txt", ".vscode/settings.json"])
      write(join(this.workspace, name), name)
    spawnSync("git", ["init", "-q"], { cwd: this.workspace })
    for (const folder of this.#visible) mkdirSync(folder, { recursive: true })
    spawnSync("mkfifo", this.#pipes)
    if (user !== undefined) spawnSync("chown", ["-R", `${user.uid}:${user.gid}`, this.folder])
  }

  /** Folders that a run sees, and the folder around the programs of one. */
  get #visible(): ReadonlyArray<string> {
    const inWorkspace = ["", "node_modules/a", ".nx/d"].map((name) => join(this.workspace, name))
    const inHome = [".agent/deep", ".rd", ".rd/bin", ".rd/lib", ".nvm/versions/node/v1/lib"]
    return [...inWorkspace, ...inHome.map((name) => join(this.home, name))]
  }

  get #pipes(): ReadonlyArray<string> {
    return this.#visible.map((folder) => join(folder, "pipe"))
  }

  get #sockets(): ReadonlyArray<string> {
    return this.#visible.map((folder) => join(folder, "s"))
  }

  async open(): Promise<void> {
    for (const path of [join(this.outside, "socket"), ...this.#sockets]) {
      const server = createServer((socket) => socket.end("reached"))
      this.servers.push(server)
      server.listen(path)
      await once(server, "listening")
      if (this.user !== undefined) chownSync(path, this.user.uid, this.user.gid)
    }
    for (const path of this.#pipes)
      this.readers.push(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK))
  }

  /** Ends the network of its runs. */
  async close(): Promise<void> {
    for (const server of this.servers) server.close()
    for (const reader of this.readers) closeSync(reader)
    await Effect.runPromise(Scope.close(this.scope, Exit.void))
  }

  /** The command of a run in that mode. */
  async confined(mode: RunMode, file: string, args: ReadonlyArray<string>): Promise<SubprocessSpec> {
    const { access, declared, env: more, grants = [], hosts = [], keys, user = denying } = this.network
    const config = makeEdgeConfig({
      home: this.edge,
      confinement: "required",
      runHosts: hosts,
      environment: { PATH, HOME: this.home }
    })
    const env = {
      PATH: `${PATH}:${join(this.home, ".rd", "bin")}`,
      HOME: this.home,
      TMPDIR: this.temporary,
      HOSTILE: JSON.stringify(this.targets),
      ...more
    }
    const plan = Effect.gen(function* () {
      const confinement = yield* Confinement
      const state = [{ path: ".agent", settings: ["settings.json", "hooks"] }]
      const folders = { state, reads: [dirname(hostile), shared, dirname(process.execPath)] }
      return { confinement, folders }
    })
    // A run has one network at a time.
    for (const folder of this.#runFolders) await rm(folder, { recursive: true, force: true })
    this.#giveTo(process.getuid?.() ?? 0, process.getgid?.() ?? 0)
    const spec = await Effect.runPromise(
      plan.pipe(
        Effect.flatMap(({ confinement, folders }) =>
          confinement.confine(
            {
              ids: undefined,
              mode,
              workspace: this.workspace,
              attachments: undefined,
              folders,
              network: declared,
              grants,
              user,
              copies: this.copies,
              layer: this.layer,
              keys
            },
            { file, args, cwd: this.workspace, env, stdin: "ignore", temporary: this.temporary }
          )
        ),
        Effect.provide(Layer.provide(Confinement.layer, Layer.succeed(EdgeConfig, config))),
        access === undefined ? (effect) => effect : Effect.provideService(NetworkAccess, access),
        Scope.provide(this.scope)
      )
    )
    if (this.user !== undefined) {
      const { gid, uid } = this.user
      this.#giveTo(uid, gid)
      for (const folder of this.#runFolders) spawnSync("chown", ["-R", `${uid}:${gid}`, folder])
    }
    return spec
  }

  /** Results of the hostile program. */
  async attack(
    mode: RunMode,
    { group, marks, program = hostile, startGroup }: CaseContainment & { readonly program?: string } = {}
  ): Promise<Results> {
    const spec = await this.confined(mode, process.execPath, [program])
    const inGroup = group === undefined ? spec : commandInGroup(group, spec.file, spec.args)
    const { args, file } =
      startGroup === undefined ? inGroup : commandInGroup(startGroup, "setpriv", this.#asUser(inGroup))
    const env = { ...spec.env, ...marks }
    const user = startGroup === undefined ? this.user : undefined
    const child = spawn(file, args, { env, ...user, stdio: ["ignore", "pipe", "pipe"] })
    let [stdout, stderr] = ["", ""]
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    await once(child, "close")
    if (stdout === "") throw new Error(`the hostile program did not run: ${stderr}`)
    return JSON.parse(stdout) as Results
  }

  /** What is in the folder, except the run's own temporary files: a line for each entry, with what it contains. */
  contents(): ReadonlyArray<string> {
    return folderContents(
      this.folder,
      this.folder,
      (path) =>
        path === this.temporary || path === join(this.edge, "layers") || this.#runFolders.includes(path)
    )
  }

  /** Arguments of `setpriv`, which changes the user after a process has entered a group. */
  #asUser({ args, file }: Pick<SubprocessSpec, "args" | "file">): ReadonlyArray<string> {
    const { gid, uid } = this.user ?? { uid: 0, gid: 0 }
    return [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--", file, ...args]
  }

  /** Commits the files of the workspace, as its owner. */
  commit(): void {
    const git = ["-C", this.workspace, "-c", "user.name=a", "-c", "user.email=a@b.c"]
    const options = this.user === undefined ? {} : this.user
    for (const args of [
      ["add", "file.txt", "removed.txt", ".vscode"],
      ["commit", "-qm", "first"]
    ])
      spawnSync("git", [...git, ...args], options)
  }

  /** Gives what the Edge of the test has made there to the user of the run. */
  giveLayers(): void {
    const { uid, gid } = this.user ?? {}
    if (uid !== undefined) spawnSync("chown", ["-R", `${uid}:${gid}`, join(this.edge, "layers")])
  }

  /** The Edge of the test and the program of the run may have different users. */
  #giveTo(uid: number, gid: number): void {
    chownSync(dirname(this.temporary), uid, gid)
  }

  /** Its sockets, its copies, its settings of Git, and the state of its runtime. */
  get #runFolders(): ReadonlyArray<string> {
    return ["net", "copies", "git", "state"].map((name) => `${this.temporary}.${name}`)
  }

  private get targets() {
    return {
      ...this.network.targets,
      workspace: this.workspace,
      hostProcess: process.pid,
      outside: this.outside,
      home: this.home,
      temporary: this.temporary,
      token: join(this.edge, "edge.token"),
      secret: join(this.home, ".ssh", "id_ed25519"),
      sibling: join(this.edge, "tmp", "run_b", "file"),
      socket: join(this.outside, "socket"),
      sockets: this.#sockets,
      pipes: this.#pipes,
      credentials: CREDENTIALS.map((name) => join(this.home, name)),
      credential: SECRET,
      programs: [".rd/bin/docker", "bin/deploy"].map((name) => join(this.home, name)),
      around: join(this.home, ".rd")
    }
  }
}
