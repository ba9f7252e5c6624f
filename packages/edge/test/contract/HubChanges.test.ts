/** Change sets of a linked Edge: what it pushes, what the Hub reads, and decisions that happen once. */
import type { ChangeSet, DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import type { ChangedFileId, ChangeSetId, RunId, TaskGroupId } from "@corral/domain/identity/Ids"
import {
  type CommandName,
  type CommandOutcome,
  type CommandSuccess,
  edgeCommands
} from "@corral/domain/link/EdgeCommand"
import { MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import { Run } from "@corral/domain/run/Run"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { type LinkPeer, openPeer } from "@corral/testing/edge/LinkPeer"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Schema } from "effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { commitAll, sampleRepository } from "../workspace/Repository.ts"

const joined = async () => {
  const peer = await openPeer()
  const edge = new EdgeInProcess()
  onTestFinished(() => edge.remove())
  sampleRepository(edge.workspace)
  await peer.join(edge.home)
  await edge.start()
  await peer.linked()
  return { edge, peer }
}

const doneWith = <N extends CommandName>(name: N, outcome: CommandOutcome): CommandSuccess<N> => {
  if (outcome._tag === "Refused") assert.fail(JSON.stringify(outcome.error))
  // The schema of that name decodes its success.
  const schema = edgeCommands[name].success as unknown as Schema.Codec<CommandSuccess<N>, unknown>
  return Schema.decodeUnknownSync(schema)(outcome.value)
}

const codeOfOutcome = (outcome: CommandOutcome): string =>
  outcome._tag === "Refused" ? outcome.error.code : "done"

/** A run that has written in its worktree and has ended. */
const writtenRun = async (
  peer: LinkPeer,
  script = "/write a.txt work\n/write new.txt new"
): Promise<RunId> => {
  const started = await peer.start(script, { isolation: "worktree", mode: "auto_edit" })
  if (started._tag === "Refused") assert.fail(JSON.stringify(started.error))
  const { id } = Schema.decodeUnknownSync(Run)(started.value)
  await peer.until("the end", () => isTerminalType(peer.log(id).at(-1)?.type ?? ""), 25_000)
  return id
}

/** The newest state of the run's set that the peer has, once it is as wanted. */
const pushedSet = async (
  peer: LinkPeer,
  runId: RunId,
  is: (set: ChangeSet) => boolean = () => true
): Promise<ChangeSet> => {
  const setId = `chs_${runId.slice("run_".length)}` as ChangeSetId
  const newest = () => peer.changeSets.get(setId)?.at(-1)
  await peer.until("the change set", () => {
    const set = newest()
    return set !== undefined && is(set)
  })
  return newest() ?? assert.fail("a set was pushed")
}

const author = { by: "usr_ada", origin: "console" } as const

const fileOf = async (peer: LinkPeer, runId: RunId, path: string): Promise<ChangedFileId> => {
  const { items } = doneWith("ReadChanges", await peer.ask("ReadChanges", { runId, limit: 50 }))
  return items.find((file) => file.path === path)?.id ?? assert.fail(`${path} is in the set`)
}

const accept = (peer: LinkPeer, runId: RunId, ids: ReadonlyArray<ChangedFileId>, commandId?: string) =>
  peer.ask(
    "DecideChanges",
    { runId, kind: "accept", request: { parts: { files: ids } }, ...author },
    commandId
  )

describe("change sets of an Edge that is linked to a Hub", () => {
  it("are pushed after the end of a run and after each decision, and read page by page", async () => {
    const { edge, peer } = await joined()
    const runId = await writtenRun(peer)
    const set = await pushedSet(peer, runId)
    assert.deepInclude(set, { runId, isolation: "worktree", state: "open", fileCount: 2, live: false })
    const first = doneWith("ReadChanges", await peer.ask("ReadChanges", { runId, limit: 1 }))
    assert.deepStrictEqual(
      first.items.map(({ path }) => path),
      ["a.txt"]
    )
    assert.isNotNull(first.next)
    const last = doneWith(
      "ReadChanges",
      await peer.ask("ReadChanges", { runId, limit: 1, after: first.next ?? "" })
    )
    assert.deepStrictEqual([last.items.map(({ path }) => path), last.next], [["new.txt"], null])
    const fileId = await fileOf(peer, runId, "a.txt")
    const content = doneWith(
      "ReadChangedFile",
      await peer.ask("ReadChangedFile", { runId, fileId, limit: 10 })
    )
    assert.lengthOf(content.items, 1)
    const added = { runId, fileId: await fileOf(peer, runId, "new.txt"), limit: 10 }
    const { items } = doneWith("ReadChangedFile", await peer.ask("ReadChangedFile", added))
    assert.deepStrictEqual(
      items.map(({ lines }) => lines),
      [["+new"]]
    )

    const decided = doneWith("DecideChanges", await accept(peer, runId, [fileId]))
    assert.deepInclude(decided.decision, { kind: "accept", ...author, fileCount: 1 })
    assert.strictEqual(readFileSync(join(edge.workspace, "a.txt"), "utf8"), "work\n")
    assert.isFalse(existsSync(join(edge.workspace, "new.txt")))
    const pushed = await pushedSet(peer, runId, ({ decisions }) => decisions.length === 1)
    assert.strictEqual(pushed.decisions[0]?.id, decided.decision.id)
    const { id: decisionId } = decided.decision
    const undone = await peer.ask("UndoChanges", { runId, request: { decisionId }, ...author })
    assert.strictEqual(doneWith("UndoChanges", undone).decision.reverses, decisionId)
    assert.notStrictEqual(readFileSync(join(edge.workspace, "a.txt"), "utf8"), "work\n")
    await pushedSet(peer, runId, ({ decisions }) => decisions.length === 2)
  })

  it("are decided once per command, also if its answer was lost, and no second time by another", async () => {
    const { edge, peer } = await joined()
    const runId = await writtenRun(peer)
    const fileId = await fileOf(peer, runId, "new.txt")
    const first = doneWith("DecideChanges", await accept(peer, runId, [fileId], "decide-1"))
    const again: DecidedChanges = doneWith("DecideChanges", await accept(peer, runId, [fileId], "decide-1"))
    assert.strictEqual(again.decision.id, first.decision.id)
    assert.strictEqual(codeOfOutcome(await accept(peer, runId, [fileId])), "changes_outdated")
    assert.strictEqual(readFileSync(join(edge.workspace, "new.txt"), "utf8"), "new\n")
  })

  it("are pushed again over the next link until they are acknowledged", async () => {
    const { peer } = await joined()
    peer.losesChanges = true
    const runId = await writtenRun(peer)
    await pushedSet(peer, runId)
    peer.losesChanges = false
    const setId = `chs_${runId.slice("run_".length)}` as ChangeSetId
    peer.changeSets.delete(setId)
    peer.cut()
    await pushedSet(peer, runId)
    const fileId = await fileOf(peer, runId, "a.txt")
    await accept(peer, runId, [fileId])
    await pushedSet(peer, runId, ({ decisions }) => decisions.length === 1)
  })

  it("are not pushed to a Hub that does not accept them, nor again after a refusal", async () => {
    const { peer } = await joined()
    peer.acceptsChanges = false
    peer.cut()
    await peer.until("the next link", () => peer.proofs === 2 && peer.isLinked)
    const quiet = await writtenRun(peer)
    await fileOf(peer, quiet, "a.txt")
    assert.strictEqual(peer.changeSets.size, 0)
    peer.acceptsChanges = true
    peer.ackOfChanges = (id) => ({ id, refused: "permission_denied" })
    peer.cut()
    await pushedSet(peer, quiet)
    const later = await writtenRun(peer)
    await pushedSet(peer, later)
    const setId = `chs_${quiet.slice("run_".length)}` as ChangeSetId
    assert.lengthOf(peer.changeSets.get(setId) ?? [], 1)
  })

  it("are read in pages that fit into an answer, each hunk once", async () => {
    const { edge, peer } = await joined()
    const lines = Array.from({ length: 20_000 }, (_, i) => `${i} `.padEnd(200, "x"))
    writeFileSync(join(edge.workspace, "big.txt"), lines.join("\n"))
    commitAll(edge.workspace)
    const started = await peer.start("/ask\n/say done", { isolation: "worktree", mode: "ask" })
    if (started._tag === "Refused") assert.fail(JSON.stringify(started.error))
    const { id: runId } = Schema.decodeUnknownSync(Run)(started.value)
    await peer.until("the question", () =>
      peer.log(runId).some(({ type }) => type === "run.approval.requested")
    )
    // What a program of the run would write.
    const changed = lines.map((line, i) => (i % 100 === 50 ? "changed" : line))
    writeFileSync(join(edge.home, "worktrees", runId, "big.txt"), changed.join("\n"))
    const [approval] = await edge.client.approvals(`runId=${runId}`)
    if (approval === undefined) return assert.fail("an approval waits")
    await edge.client.decide(runId, approval.id, "deny")
    await peer.until("the end", () => isTerminalType(peer.log(runId).at(-1)?.type ?? ""), 25_000)
    const fileId = await fileOf(peer, runId, "big.txt")
    const hunks: Array<string> = []
    let pages = 0
    let position = {}
    for (let isLast = false; !isLast; pages++) {
      const command = { runId, fileId, limit: 200, context: 1_000, ...position }
      const page = doneWith("ReadChangedFile", await peer.ask("ReadChangedFile", command))
      assert.isBelow(JSON.stringify(page).length, MAX_FRAME_BYTES / 2)
      hunks.push(...page.items.map(({ id }) => id))
      isLast = page.next === null
      position = page.next === null ? {} : { after: page.next }
    }
    assert.strictEqual(new Set(hunks).size, 200)
    assert.lengthOf(hunks, 200)
    assert.isAbove(pages, 1)
  })

  it("are accepted as a person edited them, and rejected with comments", async () => {
    const { edge, peer } = await joined()
    const runId = await writtenRun(peer)
    const contentOf = async (path: string) => {
      const fileId = await fileOf(peer, runId, path)
      return doneWith("ReadChangedFile", await peer.ask("ReadChangedFile", { runId, fileId, limit: 10 }))
    }
    const hunkId = (await contentOf("a.txt")).items[0]?.id ?? assert.fail("a.txt has a hunk")
    const accepted = await peer.ask("DecideChanges", {
      runId,
      kind: "accept",
      request: { parts: { hunks: [hunkId] }, edits: [{ hunkId, lines: ["work", "as edited"] }] },
      ...author
    })
    assert.deepInclude(doneWith("DecideChanges", accepted).decision, { edited: 1 })
    assert.strictEqual(readFileSync(join(edge.workspace, "a.txt"), "utf8"), "work\nas edited\n")
    const fileId = await fileOf(peer, runId, "new.txt")
    const rejected = await peer.ask("DecideChanges", {
      runId,
      kind: "reject",
      request: { parts: { files: [fileId] }, comments: [{ fileId, text: "No new files." }] },
      ...author
    })
    const { decision } = doneWith("DecideChanges", rejected)
    assert.deepStrictEqual(
      decision.rejected?.map(({ lines, path, text }) => [path, lines, text]),
      [
        ["new.txt", ["+new"], undefined],
        ["new.txt", undefined, "No new files."]
      ]
    )
    const pushed = await pushedSet(peer, runId, ({ decisions }) => decisions.length === 2)
    assert.deepStrictEqual(pushed.decisions[0], decision)
  })

  it("are pushed with the results of their checks", async () => {
    const { peer } = await joined()
    const checks = [{ name: "test", command: "true" }]
    const groupId = "tgr_00000000000000000000000000" as TaskGroupId
    const started = await peer.start("/write a.txt work", {
      isolation: "worktree",
      mode: "auto_edit",
      checks,
      groupId
    })
    if (started._tag === "Refused") assert.fail(JSON.stringify(started.error))
    const { id } = Schema.decodeUnknownSync(Run)(started.value)
    const set = await pushedSet(peer, id, (each) => each.checks?.endedAt !== undefined)
    assert.strictEqual(set.groupId, groupId)
    assert.deepStrictEqual(
      set.checks?.results.map(({ name, state }) => [name, state]),
      [["test", "unavailable"]]
    )
  })

  it("are removed at the Hub's request, but not under a live run", async () => {
    const { edge, peer } = await joined()
    const runId = await writtenRun(peer)
    const discard = async (id: RunId) => peer.ask("DiscardChanges", { runId: id, by: author.by })
    const next = await peer.start("/wait", { resume: runId, mode: "auto_edit" })
    if (next._tag === "Refused") assert.fail(JSON.stringify(next.error))
    const { id } = Schema.decodeUnknownSync(Run)(next.value)
    assert.strictEqual(codeOfOutcome(await discard(id)), "conflict")
    await edge.client.cancel(id)
    await peer.until("the end", () => isTerminalType(peer.log(id).at(-1)?.type ?? ""), 25_000)
    assert.isTrue(doneWith("DiscardChanges", await discard(runId)).removed)
    assert.isFalse(existsSync(join(edge.home, "worktrees", runId)))
    assert.isFalse(doneWith("DiscardChanges", await discard(runId)).removed)
    assert.strictEqual(codeOfOutcome(await peer.ask("ReadChanges", { runId, limit: 1 })), "not_found")
  })

  it("of runs that are not this Hub's are neither read nor decided", async () => {
    const { edge, peer } = await joined()
    const local = await edge.client.create("/say done", "ask", { isolation: "worktree" })
    await edge.client.result(local.id, 60_000)
    for (const outcome of [
      await peer.ask("ReadChanges", { runId: local.id, limit: 1 }),
      await peer.ask("UndoChanges", { runId: local.id, request: {}, ...author })
    ])
      assert.strictEqual(codeOfOutcome(outcome), "not_found")
    assert.strictEqual(peer.changeSets.size, 0)
  })
})
