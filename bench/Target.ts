/**
 * One server process under measurement, the floor or the Edge: started in its own home, measured from outside through /proc,
 * stopped and swept away. Linux only.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { endHolder, holderOf } from "@corral/testing/edge/Survivors"
import { type BenchSide, type BuildOptions, entryOf, isFloor, knownSettings, profilingOf } from "./Builds.ts"
import { cpuMicrosOf, descendantsOf, memoryOf, proportionalOf } from "./ProcessFigures.ts"

/** The runtime's program is next to the Edge's entry. */
export interface TargetOptions extends BuildOptions {
  /** Where the Edge's threads leave their CPU profiles when they end. */
  readonly profile?: string | undefined
  /** Makes `collectGarbage` work, on both sides. */
  readonly collectable?: boolean
  /** Whether the servers offer the agent "quick". */
  readonly hasQuick?: boolean
  /** Confinement of runs. By default that of this process's environment, or none. */
  readonly confinement?: "off" | "required"
}

/** The folder a server keeps its store in, with the token that opens it and a workspace. */
export interface Home {
  readonly path: string
  readonly token: string
  readonly workspace: string
}

const COLLECT = new URL("edge/collect.mjs", import.meta.url).href
const FLOOR = fileURLToPath(new URL("edge/floor.mjs", import.meta.url))
const agentOf = (id: string, label: string, program: string) => ({
  id,
  label,
  adapter: "scripted",
  program: fileURLToPath(new URL(`edge/${program}`, import.meta.url))
})
/** An agent whose program starts within a millisecond. */
const quick = agentOf("quick", "Quick", "quick.sh")
/** An agent on Node that uses `fetch`. */
const fetching = agentOf("fetching", "Fetching", "fetching.mjs")

/** A server that is not gone by then does not go by itself. */
const STOP_LIMIT_MS = 15_000

const tokenFileOf = (home: string): string => `${home}.token`
const heapFileOf = (home: string): string => `${home}.heap`

export const makeHome = (): Home => {
  const path = mkdtempSync(join(tmpdir(), "corral-bench-"))
  const token = "bench".repeat(8)
  const workspace = join(path, "workspace")
  mkdirSync(workspace)
  // Beside the home: a home with a token and without a store is one whose store is lost.
  writeFileSync(tokenFileOf(path), `${token}\n`, { mode: 0o600 })
  return { path, token, workspace }
}

export const removeHome = ({ path }: Home): void => {
  rmSync(path, { recursive: true, force: true })
  rmSync(tokenFileOf(path), { force: true })
  rmSync(heapFileOf(path), { force: true })
}

export class BenchTarget {
  readonly side: BenchSide
  readonly url: string
  readonly token: string
  /** Milliseconds from spawn to the line that says it serves. */
  readonly readyAfter: number
  private readonly child: ChildProcess
  private readonly pid: number
  private readonly heapFile: string
  private readonly home: Home
  private holder: number | undefined

  private constructor(
    side: BenchSide,
    url: string,
    token: string,
    readyAfter: number,
    child: ChildProcess,
    pid: number,
    home: Home
  ) {
    this.side = side
    this.url = url
    this.token = token
    this.readyAfter = readyAfter
    this.child = child
    this.pid = pid
    this.home = home
    this.heapFile = heapFileOf(home.path)
  }

  static async start(side: BenchSide, home: Home, options: TargetOptions): Promise<BenchTarget> {
    const { collectable, profile } = options
    const entry = entryOf(options, side)
    const program = join(dirname(entry), "scripted.mjs")
    if (!existsSync(program)) throw new Error(`there is no ${program}: npm run build makes it`)
    const collecting = collectable === true ? ["--expose-gc", "--import", COLLECT] : []
    const server = isFloor(side) ? [FLOOR] : [...profilingOf(profile, side), entry]
    const { CORRAL_EDGE_CONFINEMENT: confinement = "off", CORRAL_EDGE_ORPHAN_MS: orphanMs } = process.env
    if (options.hasQuick === true)
      writeFileSync(join(home.path, "edge.config.json"), JSON.stringify({ profiles: [quick, fetching] }), {
        mode: 0o600
      })
    const begin = performance.now()
    const child = spawn(process.execPath, [...collecting, ...server], {
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
        HOME: process.env.HOME,
        CORRAL_HOME: home.path,
        CORRAL_EDGE_TOKEN_FILE: tokenFileOf(home.path),
        CORRAL_EDGE_WORKSPACES: JSON.stringify([{ id: "bench", path: home.workspace }]),
        // Confined runs, and runs that end with their Edge, are measured by the same groups.
        ...knownSettings(options, side, {
          CORRAL_EDGE_CONFINEMENT: options.confinement ?? confinement,
          ...(orphanMs === undefined ? {} : { CORRAL_EDGE_ORPHAN_MS: orphanMs })
        }),
        BENCH_TOKEN: home.token,
        BENCH_HEAP_FILE: heapFileOf(home.path),
        ...(side === "volatile" ? { BENCH_VOLATILE: "1" } : {}),
        BENCH_PROGRAM: program,
        BENCH_QUICK: quick.program,
        BENCH_WORKSPACE: home.workspace
      }
    })
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      once(child, "exit").then(() => Promise.reject(new Error(`the ${side} did not start`)))
    ])
    const readyAfter = performance.now() - begin
    const { url } = JSON.parse(String(line)) as { readonly url: string }
    if (child.pid === undefined) throw new Error(`the ${side} has no process`)
    return new BenchTarget(side, url, home.token, readyAfter, child, child.pid, home)
  }

  /** Folder of its runs. */
  get workspace(): string {
    return this.home.workspace
  }

  /** Of the server and of what holds its runs. */
  cpuMicros(): number {
    return this.pids.reduce((sum, pid) => sum + cpuMicrosOf(pid), 0)
  }

  memory(): { readonly resident: number; readonly anonymous: number } {
    const each = this.pids.map(memoryOf)
    return {
      resident: each.reduce((sum, { resident }) => sum + resident, 0),
      anonymous: each.reduce((sum, { anonymous }) => sum + anonymous, 0)
    }
  }

  /** Kilobytes of all processes of its runs. Pages that processes share are counted in parts. */
  runMemory(): number {
    const [, holder] = this.pids
    return holder === undefined ? 0 : descendantsOf(holder).reduce((sum, pid) => sum + proportionalOf(pid), 0)
  }

  /** The holder starts with the first run. */
  private get pids(): ReadonlyArray<number> {
    this.holder ??= holderOf(this.home.path)
    return this.holder === undefined ? [this.pid] : [this.pid, this.holder]
  }

  /** Kilobytes in use by objects and buffers, at the last collection of garbage. */
  heap(): number {
    return Number(readFileSync(this.heapFile, "utf8")) / 1_024
  }

  /** Asks for it; it is done within milliseconds. */
  collectGarbage(): void {
    this.child.kill("SIGUSR2")
  }

  async stop(): Promise<void> {
    const exit = once(this.child, "exit")
    this.child.kill("SIGTERM")
    const killTimer = setTimeout(() => this.child.kill("SIGKILL"), STOP_LIMIT_MS)
    await exit
    clearTimeout(killTimer)
    // It would hold the runs for the next Edge.
    endHolder(this.home.path)
  }
}
