/**
 * Several runs of one group over real HTTP: they begin with the same files, also those that start later and after the Edge was killed, and hunks of
 * several are accepted one after the other.
 */
import type {
  ChangedFile,
  ChangedFileContent,
  ChangeSetPage,
  DecidedChanges
} from "@corral/domain/edge-api/ChangeSet"
import type { TaskGroupId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { mint } from "@corral/service/Identifiers"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { canConfine } from "../confinement/CanConfine.ts"
import { commitAll, sampleRepository } from "../workspace/Repository.ts"

const LINES = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`)
const textOf = (lines: ReadonlyArray<string>): string => `${lines.join("\n")}\n`
const withLines = (changes: Readonly<Record<number, string>>): string =>
  textOf(LINES.map((line, at) => changes[at + 1] ?? line))
const edit = (line: number, text: string): string => `sed -i '${line}s/.*/${text}/' code.txt`

const openEdge = async (): Promise<EdgeProcess> => {
  const edge = new EdgeProcess({ env: { CORRAL_EDGE_CONFINEMENT: "required" } })
  onTestFinished(() => edge.remove())
  sampleRepository(edge.workspace)
  writeFileSync(join(edge.workspace, "code.txt"), textOf(LINES))
  commitAll(edge.workspace)
  await edge.start()
  return edge
}

const newGroup = (): TaskGroupId => mint<TaskGroupId>("tgr", Date.now())

/** A candidate that runs a command and has ended. Returns what the command printed, too. */
const candidate = async (
  client: EdgeClient,
  groupId: TaskGroupId,
  command: string,
  isolation: string | undefined
): Promise<{ run: Run; printed: string }> => {
  const run = await client.create(`/shell ${command}`, "auto_edit", {
    groupId,
    ...(isolation === undefined ? {} : { isolation })
  })
  const reader = await client.follow({ runId: run.id })
  const requested = await reader.event("run.approval.requested")
  await client.decide(run.id, String(requested.payload["approvalId"]), "allow")
  const log = await client.log(run.id)
  assert.strictEqual(log.at(-1)?.type, "run.completed", JSON.stringify(log.at(-1)))
  const result = log.find(({ type }) => type === "run.tool.result")
  return { run, printed: String(result?.payload["output"] ?? "").trim() }
}

const changesOf = async (client: EdgeClient, { id }: Run): Promise<ChangeSetPage> => {
  const { body, status, text } = await client.ask("GET", `/v1/runs/${id}/changes`)
  assert.strictEqual(status, 200, text)
  return body as ChangeSetPage
}

const filesOf = async (client: EdgeClient, run: Run): Promise<ReadonlyMap<string, ChangedFile>> =>
  new Map((await changesOf(client, run)).items.map((file) => [file.path, file]))

/** The hunk of code.txt that adds this line. */
const hunkOf = async (client: EdgeClient, run: Run, added: string): Promise<string> => {
  const file = (await filesOf(client, run)).get("code.txt")
  const { body, text } = await client.ask("GET", `/v1/runs/${run.id}/changes/files/${file?.id}`)
  const { items } = body as ChangedFileContent
  return items.find(({ lines }) => lines.includes(`+${added}`))?.id ?? assert.fail(text)
}

const accept = (client: EdgeClient, { id }: Run, parts: object) =>
  client.ask("POST", `/v1/runs/${id}/changes/accept`, { body: { parts } })

const accepted = async (client: EdgeClient, run: Run, parts: object): Promise<DecidedChanges> => {
  const { body, status, text } = await accept(client, run, parts)
  assert.strictEqual(status, 200, text)
  return body as DecidedChanges
}

describe.skipIf(!canConfine)("Candidates", () => {
  for (const isolation of ["overlay", "worktree"] as const)
    it(`begin with the same files in ${isolation}, and parts of several are accepted`, async () => {
      const edge = await openEdge()
      const { workspace } = edge
      const groupId = newGroup()
      const code = () => readFileSync(join(workspace, "code.txt"), "utf8")
      const first = await candidate(
        edge.client,
        groupId,
        `${edit(3, "three of A")}; ${edit(20, "twenty of A")}; echo same > same.txt`,
        isolation
      )
      assert.deepInclude(first.run, { groupId, isolation })
      await accepted(edge.client, first.run, { hunks: [await hunkOf(edge.client, first.run, "three of A")] })
      assert.strictEqual(code(), withLines({ 3: "three of A" }))
      // The person continues meanwhile, and the Edge is killed.
      writeFileSync(join(workspace, "new.txt"), "of the person\n")
      rmSync(join(workspace, "a.txt"))
      commitAll(workspace)
      await edge.kill()
      await edge.start()
      const { client } = edge
      const look = "sed -n 3p code.txt; ls a.txt new.txt 2>/dev/null"
      const second = await candidate(
        client,
        groupId,
        `${look}; ${edit(10, "ten of B")}; ${edit(20, "twenty of B")}; echo same > same.txt`,
        isolation
      )
      assert.strictEqual(second.printed, "line 3\na.txt", "the base is that of the first one")
      const third = await candidate(client, groupId, `${look}; ${edit(28, "last of C")}`, isolation)
      assert.strictEqual(third.printed, "line 3\na.txt")
      const { items, set } = await changesOf(client, second.run)
      assert.deepInclude(set, { groupId, conflicts: 0 })
      assert.deepStrictEqual(
        items.map(({ path, status }) => [path, status]),
        [
          ["code.txt", "modified"],
          ["same.txt", "added"]
        ],
        "edits of the person are no changes of the candidate"
      )
      const ofFirst = await filesOf(client, first.run)
      const ofSecond = await filesOf(client, second.run)
      assert.isDefined(ofFirst.get("same.txt")?.result)
      assert.strictEqual(ofFirst.get("same.txt")?.result, ofSecond.get("same.txt")?.result)
      assert.notStrictEqual(ofFirst.get("code.txt")?.result, ofSecond.get("code.txt")?.result)

      await accepted(client, second.run, { hunks: [await hunkOf(client, second.run, "ten of B")] })
      await accepted(client, third.run, { hunks: [await hunkOf(client, third.run, "last of C")] })
      await accepted(client, first.run, { hunks: [await hunkOf(client, first.run, "twenty of A")] })
      const merged = withLines({ 3: "three of A", 10: "ten of B", 20: "twenty of A", 28: "last of C" })
      assert.strictEqual(code(), merged)

      const conflict = await accept(client, second.run, {
        hunks: [await hunkOf(client, second.run, "twenty of B")]
      })
      assert.strictEqual(conflict.status, 409)
      const { code: refusal, details } = conflict.body as {
        readonly code: string
        readonly details: { readonly files: ReadonlyArray<{ workspace: string; change: string }> }
      }
      assert.strictEqual(refusal, "merge_conflict")
      assert.include(details.files[0]?.workspace, "twenty of A")
      assert.include(details.files[0]?.change, "twenty of B")
      assert.strictEqual(code(), merged, "a conflict changes nothing")

      for (const run of [first.run, second.run])
        await accepted(client, run, { files: [(await filesOf(client, run)).get("same.txt")?.id] })
      assert.strictEqual(readFileSync(join(workspace, "same.txt"), "utf8"), "same\n")
      assert.isFalse(existsSync(join(workspace, "a.txt")), "the person's deletion stays")
      assert.deepInclude((await changesOf(client, first.run)).set, { state: "decided", fileCount: 0 })
      assert.deepInclude((await changesOf(client, second.run)).set, { state: "open", fileCount: 1 })
    })

  it("get a layer where the workspace has no isolation, and no base of another group", async () => {
    const edge = await openEdge()
    const { client } = edge
    const one = await candidate(client, newGroup(), "true", undefined)
    assert.strictEqual(one.run.isolation, "overlay")
    writeFileSync(join(edge.workspace, "code.txt"), "other\n")
    const other = await candidate(client, newGroup(), "cat code.txt", "overlay")
    assert.strictEqual(other.printed, "other")
    const groupId = newGroup()
    const direct = await client.tryCreate("/say no", "auto_edit", { groupId, isolation: "none" })
    const resumed = await client.tryCreate("/say no", "auto_edit", { groupId, resume: one.run.id })
    assert.deepStrictEqual(
      [direct, resumed].map(({ body, status }) => [
        status,
        (body as { readonly details: { readonly issues: ReadonlyArray<{ path: string }> } }).details.issues[0]
          ?.path
      ]),
      [
        [422, "isolation"],
        [422, "groupId"]
      ]
    )
  })

  it("see the files of the base where files have become folders and folders files", async () => {
    const edge = await openEdge()
    const { client, workspace } = edge
    const groupId = newGroup()
    writeFileSync(join(workspace, "swap"), "a file\n")
    const first = await candidate(client, groupId, "cat swap", "overlay")
    assert.strictEqual(first.printed, "a file")
    rmSync(join(workspace, "swap"))
    mkdirSync(join(workspace, "swap", "inner"), { recursive: true })
    writeFileSync(join(workspace, "swap", "inner", "b.txt"), "b\n")
    const second = await candidate(client, groupId, "cat swap; echo changed > swap", "overlay")
    assert.strictEqual(second.printed, "a file")
    assert.deepStrictEqual(
      (await changesOf(client, second.run)).items.map(({ path, status }) => [path, status]),
      [["swap", "modified"]]
    )
  })
})
