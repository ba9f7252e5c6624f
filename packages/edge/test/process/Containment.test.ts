import { assert, describe, it } from "@effect/vitest"
import { encodeUlid, type RunId } from "@corral/domain/Ids"
import { Effect } from "effect"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { Containment, sweep } from "../../src/process/Containment.ts"
import { groupsOfEdge } from "../../src/process/ControlGroup.ts"
import { hasProc } from "../../src/process/MarkSweep.ts"
import { Subprocess } from "../../src/process/Subprocess.ts"

const chosen = (containment: "auto" | "environment_mark") =>
  Effect.runPromise(
    Effect.gen(function* () {
      return yield* Containment
    }).pipe(Effect.provide(Containment.layer({ containment })))
  )

const auto = await chosen("auto")
const edgeId = `edge_test${process.pid}`
let runs = 0
const newRun = () => `run_${encodeUlid(++runs, new Uint8Array(10))}` as RunId

const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))

/** Runs a shell script in a group of its own; gives the numbers of its first line. */
const inGroup = async (script: string, mark: string) => {
  const group = auto.groupOf(edgeId, newRun())
  assert(group !== undefined)
  const [name = "", value = ""] = mark.split("=")
  const spec = {
    file: "/bin/sh",
    args: ["-c", script],
    cwd: "/",
    env: { PATH: process.env.PATH ?? "", GROUP: group, [name]: value },
    stdin: "pipe" as const,
    group
  }
  const said = await new Promise<{ readonly child: Subprocess; readonly line: string }>((resolve, reject) => {
    const child: Subprocess = new Subprocess(spec, {
      onChunk: (chunk) => resolve({ child, line: String(chunk) }),
      onEnd: ({ code, stderr }) => reject(new Error(`ended with ${code}: ${stderr}`)),
      onSpawnError: reject
    })
  })
  return { group, leader: said.child.pid, pids: (said.line.match(/\d+/g) ?? []).map(Number) }
}

describe("Containment", () => {
  it("takes no control groups where it is told not to", async () => {
    const told = await chosen("environment_mark")
    assert.strictEqual(told.kind, hasProc ? "environment_mark" : "process_group")
    assert.isUndefined(told.groupOf(edgeId, newRun()))
  })

  it("says the means that it was seen to work with", () => {
    assert.include(["cgroup", "environment_mark", "process_group"], auto.kind)
    assert.strictEqual(auto.groupOf(edgeId, newRun()) !== undefined, auto.kind === "cgroup")
  })
})

// Where the system does not let a group be made, the marks are all there is: MarkSweep.test.ts.
describe.skipIf(auto.kind !== "cgroup")("A control group", () => {
  const mark = `CORRAL_RUN_ID=group-${process.pid}`

  it("ends what wiped its environment, left its session and lost its parent", async () => {
    const script = "(env -i setsid sleep 600 >/dev/null 2>&1 & echo $!); read line"
    const { group, leader, pids } = await inGroup(script, mark)
    assert.strictEqual(pids.length, 1)
    await Effect.runPromise(sweep({ mark, leader, groups: [group] }))
    assert.deepStrictEqual(pids.filter(isAlive), [])
    assert.isFalse(existsSync(group), "the group is gone")
    assert.isFalse(existsSync(dirname(group)), "and the Edge's with it")
  })

  it("ends what is in groups that the run made itself, and removes them", async () => {
    const script =
      'mkdir "$GROUP/a" "$GROUP/a/b"; sleep 600 & echo $! > "$GROUP/a/b/cgroup.procs"; echo $!; read line'
    const { group, leader, pids } = await inGroup(script, mark)
    await Effect.runPromise(sweep({ mark, leader, groups: [group] }))
    assert.deepStrictEqual(pids.filter(isAlive), [])
    assert.isFalse(existsSync(group))
  })

  it("finds by its mark what moved itself out of the group", async () => {
    const script = 'sleep 600 & echo $! > "$(dirname "$(dirname "$GROUP")")/cgroup.procs"; echo $!; read line'
    const { group, leader, pids } = await inGroup(script, mark)
    await Effect.runPromise(sweep({ mark, leader, groups: [group] }))
    assert.deepStrictEqual(pids.filter(isAlive), [])
  })

  it("gives the program its arguments and its process id untouched", async () => {
    const group = auto.groupOf(edgeId, newRun())
    assert(group !== undefined)
    const args = [
      "-e",
      "console.log(JSON.stringify([process.pid, process.argv.slice(1)]))",
      "a b",
      "$(x)",
      "'",
      ""
    ]
    const chunks: Array<string> = []
    const child = await new Promise<Subprocess>((resolve, reject) => {
      const started: Subprocess = new Subprocess(
        { file: process.execPath, args, cwd: "/", env: {}, stdin: "ignore", group },
        {
          onChunk: (chunk) => chunks.push(String(chunk)),
          onEnd: () => resolve(started),
          onSpawnError: reject
        }
      )
    })
    assert.deepStrictEqual(JSON.parse(chunks.join("")), [child.pid, args.slice(2)])
    await Effect.runPromise(sweep({ mark: "CORRAL_RUN_ID=none", groups: [group] }))
  })

  it("is found by the next start of the same Edge, and no other Edge's is", async () => {
    const { group, leader, pids } = await inGroup(
      "(env -i setsid sleep 600 >/dev/null 2>&1 & echo $!); read l",
      mark
    )
    const foreign = join(dirname(dirname(group)), `corral-other${process.pid}`)
    mkdirSync(foreign)
    assert.deepStrictEqual(
      groupsOfEdge(edgeId).map((found) => basename(found)),
      [`corral-${edgeId}`]
    )
    await Effect.runPromise(sweep({ mark: "CORRAL_EDGE_ID=none", groups: groupsOfEdge(edgeId) }))
    assert.deepStrictEqual([...pids, leader ?? 0].filter(isAlive), [])
    assert.isTrue(existsSync(foreign))
    await Effect.runPromise(sweep({ mark: "CORRAL_EDGE_ID=none", groups: [foreign] }))
  })

  it("tells a program that is not there from one that ended", async () => {
    const group = auto.groupOf(edgeId, newRun())
    assert(group !== undefined)
    const spec = { file: "/nowhere/program", args: [], cwd: "/", env: {}, stdin: "ignore" as const, group }
    const error = await new Promise<NodeJS.ErrnoException>((resolve, reject) => {
      void new Subprocess(spec, {
        onChunk: () => undefined,
        onEnd: () => reject(new Error("ended")),
        onSpawnError: resolve
      })
    })
    assert.strictEqual(error.code, "ENOENT")
  })
})
