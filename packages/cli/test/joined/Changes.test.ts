/**
 * Change sets over the whole chain: a run of one member in a worktree, decided by others at two Hubs, over a device that comes and goes, and a run
 * that was started in a chat.
 */
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { ChangedFile, ChangeSetPage, DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import type { HubChangeSet, HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId, UserId } from "@corral/domain/identity/Ids"
import { type EdgeOptions, EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { Mirror } from "@corral/testing/hub/Mirror"
import { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Corral } from "../e2e/Corral.ts"
import { signIn } from "../e2e/SignIn.ts"
import { Chats } from "./Chats.ts"

interface Items<A> {
  readonly items: ReadonlyArray<A>
}

const git = (folder: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.org", ...args], { cwd: folder })

/** Makes the folder a repository with one commit. */
const begin = (workspace: string): void => {
  writeFileSync(join(workspace, "a.txt"), text)
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
    ["commit", "-qm", "begin"]
  ])
    git(workspace, ...args)
}

const withRepository = (options: EdgeOptions): EdgeProcess => {
  const edge = new EdgeProcess(options)
  begin(edge.workspace)
  return edge
}

const numbered = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`)
const text = `${numbered.join("\n")}\n`

describe("change sets over the whole chain", () => {
  let joined: Joined
  let reviewer: HubClient
  beforeAll(async () => {
    joined = await Joined.open({ makeEdge: withRepository })
    const { owner, projectId } = joined
    reviewer = await joined.hub.signedIn("reviewer")
    await new Mirror(joined.hub).member(owner.userId, projectId, reviewer.userId as UserId, "member")
  })
  afterAll(() => joined.remove())

  const inWorkspace = (name: string) => join(joined.edge.workspace, name)
  const atHub = (index: number, { token, userId }: HubClient): HubClient => {
    const hub = joined.hubs[index]
    assert.isDefined(hub)
    return new HubClient(hub.url, token, userId)
  }

  /** A run that wrote in its worktree, and its files as the Edge reports them. */
  const written = async (script: string) => {
    const { runId } = await joined.task({ text: script, mode: "auto_edit", isolation: "worktree" })
    const run = await joined.runWith(
      runId,
      ({ changes, state }) => state === "completed" && changes !== undefined
    )
    return { runId, run, files: (await read(runId)).items }
  }
  const read = async (runId: RunId, client = reviewer) => {
    const { body, status, text } = await client.ask<ChangeSetPage>("GET", `/client/runs/${runId}/changes`)
    assert.strictEqual(status, 200, text)
    return body
  }
  const idsOf = (files: ReadonlyArray<ChangedFile>, ...paths: ReadonlyArray<string>) =>
    files.filter(({ path }) => paths.includes(path)).map(({ id }) => id)
  const decide = (client: HubClient, runId: RunId, kind: string, body: unknown, headers = {}) =>
    client.ask<DecidedChanges>("POST", `/client/runs/${runId}/changes/${kind}`, { body, headers })
  /** A Hub that waits too long for its store says so, and has the answer of a decision that was made all the same. */
  const decideAtLast: typeof decide = async (client, runId, kind, body) => {
    const headers = { "idempotency-key": randomUUID() }
    const late = new Set(["overloaded", "idempotency_in_flight"])
    return until(
      async () => {
        const answer = await decide(client, runId, kind, body, headers)
        return late.has(String(codeOf(answer))) ? undefined : answer
      },
      "an answer",
      90_000
    )
  }
  const changesOf = (runId: RunId, is: (changes: NonNullable<HubRun["changes"]>) => boolean) =>
    joined.runWith(runId, ({ changes }) => changes !== undefined && is(changes))

  it("shows what a run changed, and another member accepts a part and rejects the rest", async () => {
    const { files, run, runId } = await written("/write new.txt new\n/write other.txt other")
    assert.deepInclude(run.changes, { state: "open", fileCount: 2 })
    assert.isFalse(existsSync(inWorkspace("new.txt")))
    const headers = { "idempotency-key": "joined-1" }
    const body = { parts: { files: idsOf(files, "new.txt") } }
    const accepted = await decide(reviewer, runId, "accept", body, headers)
    assert.strictEqual(accepted.status, 200, accepted.text)
    assert.strictEqual(readFileSync(inWorkspace("new.txt"), "utf8"), "new\n")
    assert.isFalse(existsSync(inWorkspace("other.txt")))
    const again = await decide(reviewer, runId, "accept", body, headers)
    assert.deepStrictEqual(again.body, accepted.body)
    const second = await decide(reviewer, runId, "accept", body)
    assert.deepStrictEqual([second.status, codeOf(second)], [409, "changes_outdated"], second.text)
    const comment = "Not needed."
    const rest = { parts: { files: idsOf(files, "other.txt") }, comment }
    assert.strictEqual((await decide(reviewer, runId, "reject", rest)).status, 200)
    await changesOf(runId, ({ fileCount, state }) => state === "decided" && fileCount === 0)
    const { body: listed } = await joined.owner.ask<Items<HubChangeSet>>("GET", "/client/changes")
    const set = listed.items.find((each) => each.runId === runId)
    assert.deepStrictEqual(
      set?.decisions.map(({ by, comment, kind }) => [kind, by, comment]),
      [
        ["reject", reviewer.userId, comment],
        ["accept", reviewer.userId, undefined]
      ]
    )
    const undone = await decide(reviewer, runId, "undo", { decisionId: accepted.body.decision.id })
    assert.strictEqual(undone.status, 200, undone.text)
    assert.isFalse(existsSync(inWorkspace("new.txt")))
    await changesOf(runId, ({ state }) => state === "open")
    const trail = await joined.owner.ask<Items<AuditRecord>>(
      "GET",
      `/client/audit?projectId=${joined.projectId}&actor=${reviewer.userId}`
    )
    assert.deepStrictEqual(
      trail.body.items
        .filter(({ action }) => action.startsWith("changes."))
        .map(({ action, outcome }) => [action, outcome]),
      [
        ["changes.undo", "allowed"],
        ["changes.reject", "allowed"],
        ["changes.accept", "failed"],
        ["changes.accept", "allowed"]
      ]
    )
  })

  it("returns both sides of a conflict, and writes nothing", async () => {
    const { files, runId } = await written("/write a.txt theirs\n/write beside.txt beside")
    writeFileSync(inWorkspace("a.txt"), "mine\n")
    const parts = { files: idsOf(files, "a.txt", "beside.txt") }
    const refused = await decide(reviewer, runId, "accept", { parts })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "merge_conflict"], refused.text)
    const { details } = refused.body as unknown as {
      readonly details: { readonly files: ReadonlyArray<Readonly<Record<string, string>>> }
    }
    assert.deepInclude<object>(details.files[0] ?? {}, {
      path: "a.txt",
      base: text,
      workspace: "mine\n",
      change: "theirs\n"
    })
    assert.strictEqual(readFileSync(inWorkspace("a.txt"), "utf8"), "mine\n")
    assert.isFalse(existsSync(inWorkspace("beside.txt")))
    writeFileSync(inWorkspace("a.txt"), text)
  })

  it("lets one of many decisions at two Hubs win", async () => {
    await joined.addHub()
    const { files, runId } = await written("/write once.txt once")
    const body = { parts: { files: idsOf(files, "once.txt") } }
    const people = [joined.owner, reviewer]
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => {
        const person = people[i % 2]
        assert.isDefined(person)
        const kind = i % 3 === 0 ? "reject" : "accept"
        return decideAtLast(atHub(Math.floor(i / 2) % 2, person), runId, kind, body)
      })
    )
    const wins = answers.filter(({ status }) => status === 200)
    assert.lengthOf(wins, 1, answers.map(({ status, text }) => `${status} ${text}`).join("\n"))
    assert.deepStrictEqual(
      new Set(answers.filter(({ status }) => status !== 200).map(codeOf)),
      new Set(["changes_outdated"])
    )
    const isAccepted = wins[0]?.body.decision.kind === "accept"
    assert.strictEqual(existsSync(inWorkspace("once.txt")), isAccepted)
  })

  it("follows decisions that were made at the Edge while it was not linked", async () => {
    const { files, runId } = await written("/write away.txt away")
    const { edge } = joined
    joined.front.ports = []
    joined.front.cut()
    const local = await edge.client.ask("POST", `/v1/runs/${runId}/changes/accept`, {
      body: { parts: { files: idsOf(files, "away.txt") } }
    })
    assert.strictEqual(local.status, 200, local.text)
    joined.found()
    await changesOf(runId, ({ state }) => state === "decided")
    await until(
      async () => {
        const { body } = await reviewer.ask<Items<HubChangeSet>>("GET", "/client/changes?state=decided")
        return body.items.some((set) => set.runId === runId && set.decisions.length === 1) ? true : undefined
      },
      "the decision at the Hub",
      20_000
    )
  })

  it("is listed, accepted, rejected and undone with the command", async () => {
    const { runId } = await written("/write command.txt one\n/write other.txt two")
    const corral = new Corral()
    onTestFinished(() => corral.close())
    await signIn(corral, joined)
    const command = async (name: string, ...args: ReadonlyArray<string>) => {
      const { exit, out, stderr } = await corral.run(name, runId, "--hub", joined.front.url, ...args)
      assert.deepStrictEqual([exit, stderr], [0, ""], out.join("\n"))
      return out.join("\n")
    }
    assert.match(await command("changes"), /command\.txt[^]*other\.txt/)
    assert.include(await command("changes", "--file", "command.txt"), "+one")
    assert.match(await command("accept", "--file", "command.txt"), /^Accepted: 1 file/)
    assert.strictEqual(readFileSync(inWorkspace("command.txt"), "utf8"), "one\n")
    assert.match(await command("reject", "--all", "--comment", "No."), /^Rejected: 1 file/)
    const late = await corral.run("accept", runId, "--hub", joined.front.url, "--file", "other.txt")
    assert.deepStrictEqual([late.exit, late.out], [2, []], late.stderr)
    const accepted = await until(
      async () => {
        const { body } = await joined.owner.ask<Items<HubChangeSet>>("GET", "/client/changes?state=decided")
        const set = body.items.find((each) => each.runId === runId)
        return set?.decisions.find(({ kind }) => kind === "accept")
      },
      "the decisions at the Hub",
      20_000
    )
    assert.deepInclude<object>(accepted, { by: joined.owner.userId, origin: "terminal" })
    assert.match(await command("undo", "--decision", accepted.id), /^Undone: 1 file/)
    assert.isFalse(existsSync(inWorkspace("command.txt")))
  })

  it("lets the console or the command win when both decide at the same time", async () => {
    const corral = new Corral()
    onTestFinished(() => corral.close())
    await signIn(corral, joined)
    const winners = new Set<string>()
    for (let round = 0; round < 6; round++) {
      const name = `both-${round}.txt`
      const { files, runId } = await written(`/write ${name} both`)
      const kind = round % 2 === 0 ? "reject" : "accept"
      const body = { parts: { files: idsOf(files, name) } }
      // The command takes longer to start: in later rounds, a person has looked at the changes for longer.
      const decideInConsole = async () => {
        for (let look = 0; look < round * 6; look++) await read(runId)
        return decideAtLast(reviewer, runId, kind, body)
      }
      const [command, page] = await Promise.all([
        corral.run("accept", runId, "--hub", joined.front.url, "--file", name),
        decideInConsole()
      ])
      const isOfCommand = command.exit === 0
      winners.add(isOfCommand ? "command" : "console")
      const story = `${page.text}\n${command.out.join("\n")}\n${command.stderr}`
      if (isOfCommand) assert.deepStrictEqual([page.status, codeOf(page)], [409, "changes_outdated"], story)
      else assert.deepStrictEqual([page.status, command.exit], [200, 2], story)
      assert.strictEqual(existsSync(inWorkspace(name)), isOfCommand || kind === "accept", story)
      await changesOf(runId, ({ state }) => state === "decided")
    }
    console.log(`decided by ${[...winners].join(" and ")}`)
  })

  it("isolates runs that name no isolation as the project says", async () => {
    const choose = (isolation: string | null) =>
      joined.owner.ask("PATCH", `/client/projects/${joined.projectId}`, { body: { runs: { isolation } } })
    await choose("worktree")
    const { runId } = await joined.task({ text: "/write default.txt default", mode: "auto_edit" })
    const run = await joined.runWith(runId, ({ state }) => state === "completed")
    assert.strictEqual(run.isolation, "worktree")
    assert.isFalse(existsSync(inWorkspace("default.txt")))
    await choose(null)
  })
})

describe("a run that was started in a chat", () => {
  let chats: Chats
  beforeAll(async () => {
    chats = await Chats.open({ joined: { makeEdge: withRepository } })
  })
  afterAll(() => chats.remove())

  it("has the isolation of its project, and its card says how many files wait for a decision", async () => {
    const { owner, projectId } = chats.joined
    const body = { runs: { isolation: "worktree" } }
    assert.strictEqual((await owner.ask("PATCH", `/client/projects/${projectId}`, { body })).status, 200)
    const chatter = await chats.linked("owner")
    await chats.sendMessage(chatter, "/run /write card.txt a")
    const request = await chats.card(chatter.chat, "The agent wants to change files")
    await chats.click(chatter, request.id, "Allow once")
    await chats.cardWith(chatter.chat, "Done", /^1 changed file waits for a decision in Corral$/)
    assert.isFalse(existsSync(join(chats.joined.edge.workspace, "card.txt")))
  })
})
