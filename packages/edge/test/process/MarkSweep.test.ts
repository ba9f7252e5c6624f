import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import fs, { existsSync, readFileSync, symlinkSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { join } from "node:path"
import { promisify } from "node:util"
import { runSweep } from "../../src/process/Containment.ts"
import { Launcher } from "../../src/process/Launcher.ts"
import {
  findAllSurvivors,
  findSurvivors,
  hasProc,
  processStartTime,
  SeenProcesses,
  type Survivors
} from "../../src/process/MarkSearch.ts"
import { signalGroup, sweepMarked } from "../../src/process/ProcessSweep.ts"
import { within } from "@corral/testing/time/Until"
import { temporaryFolder } from "../Folder.ts"

let started: Array<ChildProcess> = []
let left: Array<number> = []
/** Of the processes in `left`. */
const startTimes = new Map<number, number>()
let marks = 0

/** No two tests look for the same. */
const newMark = () => `CORRAL_RUN_ID=test-${process.pid}-${++marks}`

const envOf = (...marked: ReadonlyArray<string>): Record<string, string> =>
  Object.fromEntries([
    ["PATH", process.env.PATH ?? ""],
    ...marked.map((mark) => mark.split("=", 2) as [string, string])
  ])

/** Runs a shell script in a separate session. When ready, it prints a word; each number in it is a process it left. */
const start = async (
  script: string,
  env: Record<string, string>,
  program = "/bin/sh"
): Promise<ChildProcess> => {
  const child = spawn(program, ["-c", script], {
    argv0: "sh",
    env,
    detached: true,
    stdio: ["pipe", "pipe", "ignore"]
  })
  started.push(child)
  const [output] = await within(once(child.stdout, "data"), 20_000, `the first line of ${script}`)
  left.push(...(String(output).match(/\d+/g) ?? []).map(Number))
  for (const pid of left) if (!startTimes.has(pid)) startTimes.set(pid, processStartTime(pid))
  return child
}

const isAlive = (pid: number): boolean => {
  try {
    // A zombie has ended; its parent has not waited for it yet.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))
  } catch {
    return false
  }
}
const pidOf = (child: ChildProcess): number => {
  assert(child.pid !== undefined, "it was started")
  return child.pid
}
const kill = (pid: number) => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It has ended.
  }
}

afterEach(() => {
  // Who has ended may have left its number to a process of others.
  for (const child of started)
    if (child.exitCode === null && child.signalCode === null) signalGroup(pidOf(child), "SIGKILL")
  for (const pid of left) if (processStartTime(pid) === startTimes.get(pid)) kill(pid)
  started = []
  left = []
  startTimes.clear()
})

/** A program that starts another in a new session and says its id: what a daemon does. */
const inNewSession = `"${process.execPath}" -e '
  const child = require("node:child_process").spawn("sleep", ["600"], { detached: true, stdio: "ignore", env: WHICH })
  console.log(child.pid)
  child.unref()'`
const escaping = inNewSession.replace("WHICH", "process.env")
const escapingUnmarked = inNewSession.replace("WHICH", "{ PATH: process.env.PATH }")

/** How often a piece of work calls a function of the file system with such a path. */
const callsOf = (name: "openSync" | "readdirSync", isMeant: (path: string) => boolean, work: () => void) => {
  const original = fs[name] as (path: string, ...more: ReadonlyArray<unknown>) => unknown
  let calls = 0
  const counting = (path: string, ...more: ReadonlyArray<unknown>) => {
    if (isMeant(path)) calls++
    return original(path, ...more)
  }
  Object.assign(fs, { [name]: counting })
  syncBuiltinESMExports()
  try {
    work()
    return calls
  } finally {
    Object.assign(fs, { [name]: original })
    syncBuiltinESMExports()
  }
}

/** Listings of /proc that a piece of work makes. */
const listingsOf = (work: () => void): number => callsOf("readdirSync", (path) => path === "/proc", work)

/** What runs a program as the first process of a new namespace here; the second works without the rights of the administrator. */
const ownNamespace = [
  ["unshare", "--pid", "--fork", "--mount-proc"],
  ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
].find(([file = "", ...flags]) => spawnSync(file, [...flags, "true"]).status === 0)

const survivors = (mark: string, leader: number | undefined) => findSurvivors({ mark, leader }).pids
const sweep = (mark: string, leader: number | undefined) => runSweep(sweepMarked({ mark, leader }))

describe("survivors", () => {
  it("works from /proc where there is one", () => {
    assert.strictEqual(hasProc, existsSync("/proc/self/environ"))
  })

  it("finds nothing of a run that has nothing", () => {
    assert.deepStrictEqual(survivors(newMark(), undefined), [])
  })

  it("finds what carries the mark, and its children that do not", async () => {
    const mark = newMark()
    const child = await start("sleep 600 & env -i sleep 600 & echo $! $!; read line", envOf(mark))
    const found = survivors(mark, undefined)
    assert.include(found, pidOf(child))
    assert.strictEqual(found.length, 3)
  })

  it("finds by the session what wiped its environment and lost its parent", async () => {
    const child = await start("(env -i sleep 600 & echo $!); read line", envOf())
    const found = survivors(newMark(), pidOf(child))
    assert.include(found, left[0])
    assert.include(found, pidOf(child))
  })

  it("finds by the mark what left session and parent", async () => {
    const mark = newMark()
    const child = await start(`pid=$(${escaping}); echo $pid; read line`, envOf(mark))
    kill(pidOf(child))
    await once(child, "exit")
    assert.deepStrictEqual(survivors(mark, pidOf(child)), left)
  })

  it("finds by its parent what left the session and wiped its environment", async () => {
    const mark = newMark()
    const script = escapingUnmarked.replace("child.unref()", "setInterval(() => {}, 1000)")
    await start(script, envOf(mark))
    assert.strictEqual(left.length, 1)
    assert.includeMembers([...survivors(mark, undefined)], left)
  })

  it("does not touch what carries another mark, or one that begins or ends alike", async () => {
    const mark = newMark()
    const others = [`${mark}0`, `X${mark}`, mark.slice(0, -1), mark.replace("RUN", "EDGE")]
    for (const other of others) await start("echo ready; read line", envOf(other))
    const [name = "", value = ""] = mark.split("=")
    await start("echo ready; read line", { ...envOf(), OTHER: `${name}=${value}` })
    await start("echo ready; read line", envOf())
    assert.deepStrictEqual(survivors(mark, undefined), [])
  })

  it.live("reads the rows of programs with odd names", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const mark = newMark()
      for (const name of ["a b", "a) R 1 (b", ") Z 1 1 1", "((", "))", "ü)"]) {
        const program = join(folder, name)
        symlinkSync("/bin/sh", program)
        const child = yield* Effect.promise(() =>
          start("echo ready; sleep 600 & read line", envOf(mark), program)
        )
        const found = survivors(mark, undefined)
        assert.include(found, pidOf(child), name)
        assert.include(survivors(newMark(), pidOf(child)), pidOf(child), name)
        signalGroup(pidOf(child), "SIGKILL")
        yield* Effect.promise(() => once(child, "exit"))
      }
      yield* sweep(mark, undefined)
    })
  )

  it("does not count a process that has ended and was not asked after", async () => {
    const mark = newMark()
    // The child ends; its parent, which is not marked, never asks.
    await start(
      `${mark.replace("=", "='")}' sleep 0 & while [ -e /proc/$! ] && ! grep -q ') Z' /proc/$!/stat; do :; done; echo ended; kill -STOP $$`,
      envOf()
    )
    assert.deepStrictEqual(survivors(mark, undefined), [])
  })

  it("is certain while other programs start and end", async () => {
    await start("echo ready; while :; do /bin/true; sleep 0.002; done", envOf())
    const searches = Array.from({ length: 50 }, () => findSurvivors({ mark: newMark() }))
    // Other tests start programs too. What must not happen is that a search is never certain.
    assert.isAtLeast(searches.filter(({ certain }) => certain).length, 5)
  })

  it("is certain next to programs without an environment", async () => {
    await start("env -i sleep 600 & env -i sh -c 'read line' & echo $!; read line", envOf())
    const launcher = Launcher.start()
    assert(launcher !== undefined)
    await new Promise((resolve) => setImmediate(resolve))
    const listings = Array.from({ length: 20 }, () =>
      listingsOf(() => assert.deepStrictEqual(findSurvivors({ mark: newMark() }).pids, []))
    )
    await launcher.discard()
    // Other tests start programs meanwhile, so not each search is certain after its second listing.
    assert.include(listings, 2)
  })

  it("does not find the session of a later process with the number of the leader", async () => {
    const child = await start("sleep 600 & echo $!; read line", envOf())
    const leader = pidOf(child)
    const since = processStartTime(leader)
    assert.include(findSurvivors({ mark: newMark(), leader, since }).pids, leader)
    assert.deepStrictEqual(findSurvivors({ mark: newMark(), leader, since: since - 1 }).pids, [])
  })

  it("finds the processes of several targets in one search", async () => {
    const marks = [newMark(), newMark(), newMark()]
    const children = []
    for (const mark of marks) children.push(await start("sleep 600 & echo $!; read line", envOf(mark)))
    let found: ReadonlyArray<Survivors> = []
    const listings = listingsOf(() => {
      found = findAllSurvivors(marks.map((mark) => ({ mark })))
    })
    assert.isAtMost(listings, 8)
    for (const [at, child] of children.entries()) {
      const pids = found[at]?.pids ?? []
      assert.include(pids, pidOf(child))
      assert.strictEqual(pids.length, 2)
    }
  })

  it("reads no state again of what started before all targets, and of everything else", async () => {
    const old = await start("sleep 600 & echo $!; read line", envOf())
    const [sleeper = 0] = left
    const seen = new SeenProcesses()
    findAllSurvivors([{ mark: newMark() }], seen)
    // Start times have steps of 10 ms: the first program that is later than the old one.
    const later = async (): Promise<{
      readonly mark: string
      readonly leader: number
      readonly since: number
    }> => {
      const mark = newMark()
      const leader = pidOf(await start("sleep 600 & echo $!; read line", envOf(mark)))
      const since = processStartTime(leader)
      return since > processStartTime(sleeper) ? { mark, leader, since } : later()
    }
    const target = await later()
    const readsOf = (pid: number) =>
      callsOf(
        "openSync",
        (path) => path === `/proc/${pid}/stat`,
        () => {
          assert.sameMembers(
            [...(findAllSurvivors([target], seen)[0]?.pids ?? [])],
            [target.leader, ...left.slice(-1)]
          )
        }
      )
    for (let search = 0; search < 3; search++) {
      assert.strictEqual(readsOf(sleeper), 0)
      assert.strictEqual(readsOf(target.leader), 1)
    }
    assert.include(findAllSurvivors([{ mark: newMark(), leader: pidOf(old) }], seen)[0]?.pids ?? [], sleeper)
  })

  it.skipIf(ownNamespace === undefined)(
    "finds a process that has taken the number of an older one",
    async () => {
      const [file = "", ...flags] = ownNamespace ?? []
      const program = join(import.meta.dirname, "NumberReuse.ts")
      const { stdout } = await promisify(execFile)(file, [...flags, process.execPath, program])
      assert.deepStrictEqual(JSON.parse(stdout), { hasNumber: true, pids: [true] })
    }
  )

  it("never finds the process that looks", async () => {
    const found = survivors("HOME=" + (process.env.HOME ?? ""), undefined)
    assert.notInclude(found, process.pid)
  })
})

describe("sweep", () => {
  it.live("kills all of it: group, session, marked daemons, and those that ignore signals", () =>
    Effect.gen(function* () {
      const mark = newMark()
      const child = yield* Effect.promise(() =>
        start(
          `trap '' TERM INT HUP; sleep 600 & one=$!; env -i sleep 600 & two=$!; three=$(${escaping}); echo $one $two $three; while :; do sleep 600; done`,
          envOf(mark)
        )
      )
      const other = yield* Effect.promise(() => start("echo ready; read line", envOf(newMark())))
      assert.strictEqual(left.length, 3)
      const looks = yield* sweep(mark, pidOf(child))
      assert.isAtLeast(looks, 1)
      assert.deepStrictEqual([pidOf(child), ...left].filter(isAlive), [])
      assert.deepStrictEqual(survivors(mark, pidOf(child)), [])
      assert.isTrue(isAlive(pidOf(other)), "another run's process lives on")
    })
  )

  it.live("kills what was double-forked into another session, long after its parents", () =>
    Effect.gen(function* () {
      const mark = newMark()
      const child = yield* Effect.promise(() =>
        start(`pid=$(${escaping}); echo $pid; read line`, envOf(mark))
      )
      child.kill("SIGKILL")
      yield* Effect.promise(() => once(child, "exit"))
      const [daemon] = left
      assert(daemon !== undefined && isAlive(daemon))
      yield* sweep(mark, undefined)
      assert.isFalse(isAlive(daemon))
    })
  )

  it.live("outruns a program that forks while it is killed", () =>
    Effect.gen(function* () {
      const mark = newMark()
      const child = yield* Effect.promise(() =>
        start(
          "fork() { sleep 1 & fork; }; (echo ready; n=0; while [ $n -lt 400 ]; do sleep 600 & n=$((n+1)); done; wait) & wait",
          envOf(mark)
        )
      )
      yield* sweep(mark, pidOf(child))
      assert.deepStrictEqual(survivors(mark, pidOf(child)), [])
    })
  )

  it.live("has nothing to do where nothing is left", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* sweep(newMark(), undefined), 0)
    })
  )
})
