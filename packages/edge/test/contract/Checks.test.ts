/** Checks of runs over real HTTP: their results, what they may do, what they leave, and what ends them. */
import type { ChangeSetPage } from "@corral/domain/edge-api/ChangeSet"
import type { CheckResult, RunChecks } from "@corral/domain/run/Check"
import type { Run } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, watch, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { EdgeClient } from "@corral/testing/edge/EdgeClient"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { until } from "@corral/testing/time/Until"
import { openEdgeProcess, type EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { canConfine } from "../confinement/CanConfine.ts"
import { commitAll, git, sampleRepository } from "../workspace/Repository.ts"

const CONFINED = { CORRAL_EDGE_CONFINEMENT: "required" }

const changesOf = async (client: EdgeClient, { id }: Pick<Run, "id">): Promise<ChangeSetPage> => {
  const { body, status, text } = await client.ask("GET", `/v1/runs/${id}/changes`)
  assert.strictEqual(status, 200, text)
  return body as ChangeSetPage
}

/** The checks of a run once they are as wanted. */
const checksWhen = (
  client: EdgeClient,
  run: Pick<Run, "id">,
  isWanted: (checks: RunChecks) => boolean = ({ endedAt }) => endedAt !== undefined
): Promise<RunChecks> =>
  until(
    async () => {
      const { checks } = (await changesOf(client, run)).set
      return checks !== undefined && isWanted(checks) ? checks : undefined
    },
    "the checks",
    60_000
  )

const named = (commands: Readonly<Record<string, string>>) =>
  Object.entries(commands).map(([name, command]) => ({ name, command }))

const started = async (
  client: EdgeClient,
  script: string,
  commands: Readonly<Record<string, string>>,
  more: object = { isolation: "overlay" }
): Promise<Run> => {
  const run = await client.create(script, "auto_edit", { checks: named(commands), ...more })
  await client.log(run.id)
  return run
}

const statesOf = ({ results }: RunChecks) => results.map(({ name, state }) => [name, state])
const resultOf = ({ results }: RunChecks, name: string): CheckResult =>
  results.find((each) => each.name === name) ?? assert.fail(`there is no check ${name}`)

/** Succeeds when the folder has a name of this kind. */
const appears = (folder: string, pattern: RegExp): Promise<void> =>
  new Promise((resolve) => {
    const watcher = watch(folder, () => look())
    const look = () => {
      if (!readdirSync(folder).some((name) => pattern.test(name))) return
      watcher.close()
      resolve()
    }
    look()
  })

const leftOf = ({ home }: EdgeProcess): ReadonlyArray<string> => [
  ...readdirSync(join(home, "layers")).filter((name) => name.startsWith("above-")),
  ...(existsSync(join(home, "tmp")) ? readdirSync(join(home, "tmp")) : [])
]

describe.skipIf(!canConfine)("Checks of a run", () => {
  for (const isolation of ["overlay", "worktree"] as const)
    it(`are executed in what it changed in ${isolation}, and leave nothing`, async () => {
      const edge = await openEdgeInProcess({ env: CONFINED })
      const { client, workspace } = edge
      sampleRepository(workspace)
      writeFileSync(
        join(workspace, "test.sh"),
        'grep -q fixed a.txt && echo all good || { echo "not fixed"; exit 3; }\n'
      )
      commitAll(workspace)
      const run = await started(
        client,
        "/write a.txt fixed",
        {
          test: "sh test.sh",
          fails: "echo out; echo err >&2; exit 7",
          writes: "echo more > new.txt; rm test.sh; echo x > a.txt; ls",
          after: "cat a.txt; ls new.txt; git status --porcelain",
          commits: "git commit -qam no"
        },
        { isolation }
      )
      const before = await changesOf(client, run)
      const checks = await checksWhen(client, run)
      assert.deepStrictEqual(statesOf(checks), [
        ["test", "passed"],
        ["fails", "failed"],
        ["writes", "passed"],
        ["after", "passed"],
        ["commits", "failed"]
      ])
      assert.deepInclude(resultOf(checks, "test"), { exitCode: 0, output: "all good\n" })
      assert.deepInclude(resultOf(checks, "fails"), { exitCode: 7, output: "out\nerr\n" })
      assert.include(resultOf(checks, "writes").output, "new.txt")
      assert.match(resultOf(checks, "after").output ?? "", /^fixed\nls: .*new\.txt/)
      assert.isAtLeast(resultOf(checks, "test").durationMs ?? -1, 0)
      const after = await changesOf(client, run)
      assert.deepStrictEqual([after.items, after.set.version], [before.items, before.set.version])
      assert.strictEqual(checks.version, before.set.version)
      assert.strictEqual(checks.runId, run.id)
      assert.strictEqual((await client.log(run.id)).at(-1)?.type, "run.completed")
      assert.notInclude(git(workspace, "log", "--all", "--format=%s"), "no")
      assert.deepStrictEqual(leftOf(edge), [])
    })

  it("see no more than a run, have no network, and show no secret", async () => {
    const edge = await openEdgeInProcess({ env: CONFINED })
    const { client, home, workspace } = edge
    sampleRepository(workspace)
    const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    const run = await started(client, "/write a.txt x", {
      home: `ls ${home} 2>&1; test ! -e ${join(home, "edge.db")}`,
      network: "curl -sSf -m 5 http://93.184.216.34/ 2>&1",
      secret: `echo token ${secret}`,
      long: "i=0; while [ $i -lt 4000 ]; do echo line number $i; i=$((i+1)); done",
      environment: 'env | grep -c CORRAL_EDGE; test "$CI" = true'
    })
    const checks = await checksWhen(client, run)
    assert.deepStrictEqual(statesOf(checks), [
      ["home", "passed"],
      ["network", "failed"],
      ["secret", "passed"],
      ["long", "passed"],
      ["environment", "passed"]
    ])
    assert.notInclude(JSON.stringify(checks.results.map(({ output }) => output)), secret)
    assert.include(resultOf(checks, "secret").output, "token [redacted]")
    const long = resultOf(checks, "long")
    assert.isTrue(long.truncated)
    assert.match(long.output ?? "", /^line number \d+\n(?:line number \d+\n)*line number 3999\n$/)
    assert.isAtMost(long.output?.length ?? 0, 8_192)
  })

  it("end at their time limit, with all their processes", async () => {
    const edge = await openEdgeInProcess({ env: { ...CONFINED, CORRAL_EDGE_CHECK_MS: "4000" } })
    sampleRepository(edge.workspace)
    const run = await started(edge.client, "/write a.txt x", {
      hangs: "echo begun; sleep 600 & sleep 600",
      next: "echo next"
    })
    const checks = await checksWhen(edge.client, run)
    assert.deepStrictEqual(statesOf(checks), [
      ["hangs", "timed_out"],
      ["next", "passed"]
    ])
    assert.deepInclude(resultOf(checks, "hangs"), {
      output: "begun\n",
      reason: "The command took longer than 4 s."
    })
    assert.deepStrictEqual(edge.survivorsOf(run.id), [])
    assert.deepStrictEqual(leftOf(edge), [])
  })

  it("are ended by a new turn, which begins without them", async () => {
    const edge = await openEdgeInProcess({ env: CONFINED })
    const { client } = edge
    sampleRepository(edge.workspace)
    const run = await started(client, "/write a.txt x", { hangs: "sleep 600", waits: "true" })
    await checksWhen(client, run, ({ results }) => results[0]?.state === "running")
    const next = await client.create("/read a.txt", "auto_edit", { resume: run.id })
    const log = await client.log(next.id)
    assert.strictEqual(log.at(-1)?.type, "run.completed")
    const { set } = await changesOf(client, next)
    assert.notProperty(set, "checks", "the newest run has none")
    const again = await client.create("/read a.txt", "auto_edit", {
      resume: next.id,
      checks: named({ passes: "true" })
    })
    await client.log(again.id)
    assert.deepStrictEqual(statesOf(await checksWhen(client, again)), [["passes", "passed"]])
    assert.deepStrictEqual(edge.survivorsOf(run.id), [])
  })

  it("that wait when the Edge is killed are executed by the next one, and no check twice", async () => {
    const edge = await openEdgeProcess({ env: CONFINED })
    sampleRepository(edge.workspace)
    const run = await started(edge.client, "/write a.txt x", { hangs: "sleep 600", waits: "cat a.txt" })
    await checksWhen(edge.client, run, ({ results }) => results[0]?.state === "running")
    await appears(join(edge.home, "layers"), /^above-/)
    await edge.kill()
    await edge.start()
    const checks = await checksWhen(edge.client, run)
    assert.deepStrictEqual(
      checks.results.map(({ output, reason, state }) => [state, output, reason]),
      [
        ["stopped", undefined, "The Edge ended meanwhile."],
        ["passed", "x\n", undefined]
      ]
    )
    assert.deepStrictEqual(edge.survivorsOf(run.id), [])
    assert.deepStrictEqual(leftOf(edge), [])
  })

  it("of a run that was cancelled are not executed", async () => {
    const edge = await openEdgeInProcess({ env: CONFINED })
    sampleRepository(edge.workspace)
    const run = await edge.client.create("/write a.txt x\n/wait", "auto_edit", {
      checks: named({ never: "true" }),
      isolation: "worktree"
    })
    const reader = await edge.client.follow({ runId: run.id })
    await reader.event("run.file.changed")
    await edge.client.cancel(run.id)
    const checks = await checksWhen(edge.client, run)
    assert.deepInclude(resultOf(checks, "never"), { state: "unavailable", reason: "The run was cancelled." })
  })

  it("need files of the run's own", async () => {
    const { client } = await openEdgeInProcess({ env: CONFINED })
    const refused = await client.tryCreate("/say no", "auto_edit", { checks: named({ test: "true" }) })
    assert.strictEqual(refused.status, 422)
    assert.include(refused.text, '"path":"checks"')
  })
})

describe("Checks of an Edge that does not confine", () => {
  it("are not executed, and say why", async () => {
    const edge = await openEdgeInProcess()
    sampleRepository(edge.workspace)
    const mark = join(edge.workspace, "executed")
    const run = await started(
      edge.client,
      "/write a.txt x",
      { test: `touch ${mark}` },
      { isolation: "worktree" }
    )
    const checks = await checksWhen(edge.client, run)
    assert.deepStrictEqual(
      checks.results.map(({ reason, state }) => [state, reason]),
      [["unavailable", "Checks need an Edge that confines the run with bubblewrap."]]
    )
    assert.isFalse(existsSync(mark))
  })
})
