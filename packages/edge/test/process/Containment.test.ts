import type { RunId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, rmdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { Containment, type ProcessTarget, sweep } from "../../src/process/Containment.ts"
import { commandInGroup, groupsOfEdge, makeGroup } from "../../src/process/ControlGroup.ts"
import { recordGroups } from "../../src/process/GroupRecord.ts"
import { EDGE_MARK, RUN_MARK, signalGroup } from "../../src/process/ProcessSweep.ts"
import { edgeGroups, groupsHere } from "@corral/testing/edge/Survivors"
import { temporaryFolder } from "../Folder.ts"
import { configLayer } from "../Samples.ts"

const isAlive = (pid: number): boolean => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))
  } catch {
    return false
  }
}

const edgeId = `edge_test${process.pid}`
let counter = 0

/** A run's shell script under containment, and what it said: each number is the id of a process that it left. */
const contained = Effect.fnUntraced(function* (script: string) {
  const containment = yield* Containment
  // A run of these tests next to this one has other marks: each would end the processes of the other.
  const runId = `run_test${process.pid}_${++counter}` as RunId
  const group = containment.groupOf(edgeId, runId)
  const command = { file: "/bin/sh", args: ["-c", script] }
  if (group !== undefined) makeGroup(group)
  const { args, file } = group === undefined ? command : commandInGroup(group, command.file, command.args)
  const env = { PATH: process.env.PATH, [RUN_MARK]: runId, [EDGE_MARK]: edgeId }
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(file, args, { env, detached: true, stdio: ["pipe", "pipe", "ignore"] })),
    ({ pid }) => Effect.sync(() => pid !== undefined && signalGroup(pid, "SIGKILL"))
  )
  const [output] = yield* Effect.promise(() => once(child.stdout, "data"))
  const left = yield* Effect.acquireRelease(
    Effect.succeed((String(output).match(/\d+/g) ?? []).map(Number)),
    (pids) =>
      Effect.sync(() => {
        for (const pid of pids.filter(isAlive)) process.kill(pid, "SIGKILL")
      })
  )
  const target: ProcessTarget = {
    mark: `${RUN_MARK}=${runId}`,
    leader: child.pid,
    groups: group === undefined ? undefined : [group]
  }
  return { child, group, left, target }
})

const marked = 'setsid sh -c "(setsid sleep 600 >/dev/null & echo \\$!)"; read line'
// Said when what it was started by has ended.
const vanished =
  'pid=$(env -i setsid sh -c "(setsid sleep 600 >/dev/null & echo \\$!)"); echo $pid; read line'
const chosen = (containment: "auto" | "environment_mark") =>
  Effect.provide(Layer.provide(Containment.layer, configLayer("/nowhere", { containment })))

/** Of this process: other tests start Edges meanwhile, which prove their own. */
const proofs = () => edgeGroups().filter((group) => group.includes(`corral-proof-${process.pid}-`))

describe("Containment", () => {
  it.live("is a control group where one can be made and killed", () =>
    Effect.gen(function* () {
      const { groupOf, kind } = yield* Containment
      assert.strictEqual(kind, groupsHere === undefined ? "environment_mark" : "cgroup")
      const expected = groupsHere === undefined ? undefined : join(groupsHere, "corral-edge_1", "run_1")
      assert.strictEqual(groupOf("edge_1", "run_1" as RunId), expected)
      assert.deepStrictEqual(proofs(), [], "nothing is left of the proof")
    }).pipe(chosen("auto"))
  )

  it.live.skipIf(groupsHere === undefined)(
    "is a control group without a process where the last Edge proved it",
    () =>
      Effect.gen(function* () {
        const home = yield* temporaryFolder
        yield* recordGroups(home, groupsHere, [])
        const built = Layer.build(Layer.provide(Containment.layer, configLayer(home)))
        // A proof waits for its process.
        const runSync = Effect.runSyncWith(yield* Effect.context<never>())
        const { kind } = Context.get(runSync(Effect.scoped(built)), Containment)
        assert.strictEqual(kind, "cgroup")
        assert.deepStrictEqual(proofs(), [])
      })
  )

  it.live.skipIf(groupsHere === undefined)("leaves nothing of a proof that is given up", () =>
    Effect.gen(function* () {
      const choice = Effect.scoped(Layer.build(Layer.provide(Containment.layer, configLayer("/nowhere"))))
      // One of two would be left behind without waiting for the killed shell.
      for (let round = 0; round < 20; round++) {
        const choosing = yield* Effect.forkChild(choice, { startImmediately: true })
        const [proof = ""] = proofs()
        // Without a turn of the event loop, in which the shell's word would be heard.
        while (readFileSync(join(proof, "cgroup.procs"), "utf8") === "");
        yield* Fiber.interrupt(choosing)
        assert.deepStrictEqual(proofs(), [])
      }
    })
  )

  it.live("is the mark if the setting says so", () =>
    Effect.gen(function* () {
      const { groupOf, kind } = yield* Containment
      assert.strictEqual(kind, "environment_mark")
      assert.isUndefined(groupOf("edge_1", "run_1" as RunId))
    }).pipe(chosen("environment_mark"))
  )
})

describe.each(["auto", "environment_mark"] as const)("sweep, containment %s", (containment) => {
  it.live("kills what was double-forked into another session", () =>
    Effect.gen(function* () {
      const { child, group, left, target } = yield* contained(marked)
      assert.isTrue(left.length === 1 && left.every(isAlive))
      yield* sweep(target)
      assert.deepStrictEqual([child.pid ?? 0, ...left].filter(isAlive), [])
      assert.isFalse(group !== undefined && existsSync(group))
    }).pipe(chosen(containment))
  )

  it.live("outruns a program whose every generation starts the next in a new session", () =>
    Effect.gen(function* () {
      const generation = 'sleep 0.05; setsid sleep 600 & setsid sh -c "$1" loop "$1" &'
      const { target } = yield* contained(
        `sh -c '${generation}' loop '${generation}' & echo ready; read line`
      )
      yield* sweep(target)
      assert.strictEqual(yield* sweep(target), 0, "a second look finds nothing")
    }).pipe(chosen(containment))
  )

  it.live("has nothing to do a second time", () =>
    Effect.gen(function* () {
      const { target } = yield* contained("echo ready; read line")
      yield* sweep(target)
      assert.strictEqual(yield* sweep(target), 0)
    }).pipe(chosen(containment))
  )
})

describe.skipIf(groupsHere === undefined)("sweep of a control group", () => {
  it.live("kills what left its session and its parent and wiped its environment; marks do not find it", () =>
    Effect.gen(function* () {
      const { left, target } = yield* contained(vanished)
      yield* sweep({ ...target, groups: undefined })
      assert.isTrue(left.length === 1 && left.every(isAlive), "by its marks alone it is not found")
      yield* sweep(target)
      assert.deepStrictEqual(left.filter(isAlive), [])
    }).pipe(chosen("auto"))
  )

  it.live("outruns generations that wipe their environment and start the next at once", () =>
    Effect.gen(function* () {
      const generation = 'env -i setsid sh -c "$1" loop "$1" &'
      const { group = "", target } = yield* contained(
        `env -i sh -c '${generation}' loop '${generation}' & echo ready; read line`
      )
      yield* sweep(target)
      assert.isFalse(existsSync(group), "a group goes when nothing is in it")
    }).pipe(chosen("auto"))
  )

  it.live("reaches into groups that a child made inside", () =>
    Effect.gen(function* () {
      const into = `group=${groupsHere}$(sed -n 's/^0:://p' /proc/self/cgroup)/a/b`
      const {
        group = "",
        left,
        target
      } = yield* contained(
        `${into}; mkdir -p $group; (echo 0 >$group/cgroup.procs; exec env -i setsid sleep 600 >/dev/null) & echo $!; read line`
      )
      assert.isTrue(existsSync(join(group, "a", "b")))
      yield* sweep(target)
      assert.deepStrictEqual(left.filter(isAlive), [])
      assert.isFalse(existsSync(group))
    }).pipe(chosen("auto"))
  )

  it.live("finds by its mark what moved itself out", () =>
    Effect.gen(function* () {
      const script = `(echo 0 >${groupsHere}/cgroup.procs; exec setsid sleep 600 >/dev/null) & echo $!; read line`
      const { group = "", left, target } = yield* contained(script)
      const [pid = 0] = left
      while (readFileSync(`/proc/${pid}/cgroup`, "utf8").includes("run_test")) yield* Effect.yieldNow
      assert.notInclude(readFileSync(join(group, "cgroup.procs"), "utf8").split("\n"), String(pid))
      yield* sweep(target)
      assert.isFalse(isAlive(pid))
    }).pipe(chosen("auto"))
  )

  it.live("is done by the next start for all runs of the same Edge, and for no other Edge", () =>
    Effect.gen(function* () {
      const one = yield* contained(vanished)
      const other = yield* contained(vanished)
      const foreign = join(groupsHere ?? "", `corral-foreign${process.pid}`)
      yield* Effect.acquireRelease(
        Effect.sync(() => makeGroup(foreign)),
        () => Effect.sync(() => rmdirSync(foreign))
      )
      const groups = groupsOfEdge(edgeId)
      assert.deepStrictEqual(groups, [dirname(one.group ?? "")])
      yield* sweep({ mark: `${EDGE_MARK}=${edgeId}`, groups })
      assert.deepStrictEqual([...one.left, ...other.left].filter(isAlive), [])
      assert.deepStrictEqual([existsSync(groups[0] ?? ""), existsSync(foreign)], [false, true])
    }).pipe(chosen("auto"))
  )

  it.live("leaves another run's group alone", () =>
    Effect.gen(function* () {
      const one = yield* contained(vanished)
      const other = yield* contained(vanished)
      yield* sweep(one.target)
      assert.isTrue(other.left.every(isAlive))
      assert.isTrue(existsSync(other.group ?? ""))
      yield* sweep(other.target)
    }).pipe(chosen("auto"))
  )
})
