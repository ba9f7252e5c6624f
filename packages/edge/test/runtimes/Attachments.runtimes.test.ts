/**
 * Files of messages with the real programs behind a linked Edge: the model receives an image with its turn, and a text file is read by its path
 * without a question.
 */
import type { AttachmentId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { CommandPayload } from "@corral/domain/link/EdgeCommand"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import type { RunMode } from "@corral/domain/run/Run"
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import type { Attachment, AttachmentMediaType } from "@corral/domain/session/Attachment"
import { mint } from "@corral/service/Identifiers"
import { openPeer } from "@corral/testing/edge/LinkPeer"
import { registry } from "@corral/testing/recordings/Fixtures"
import { PIXEL } from "@corral/testing/hub/HubClient"
import { afterAll, assert, describe, it, onTestFinished } from "@effect/vitest"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { RIGHT_KEY } from "./FakeModels.ts"
import { install, type Installed } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { OLD, promptFor } from "./Script.ts"
import { Stage } from "./Stage.ts"

interface Subject {
  readonly agentId: string
  readonly adapter: AnyRuntimeAdapter
  readonly place: Installed
}

const agents = ["claude-code", "codex", "gemini", "gemini-acp", "opencode", "opencode-acp"]
const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

const subjects: Array<Subject> = []
for (const program of programs) {
  const ids = [...program.agents.map(({ id }) => id), ...(program.alsoAs ?? [])]
  for (const agentId of agents.filter((id) => ids.includes(id))) {
    const adapter = registry.get(agentId)
    if (adapter !== undefined) subjects.push({ agentId, adapter, place: await install(program) })
  }
}

const MILK = "remember the milk"
const NOTES = Buffer.from(`${MILK}\n${OLD}\n`)

const attachment = (name: string, mediaType: AttachmentMediaType, content: Buffer): Attachment => ({
  id: mint<AttachmentId>("att", Date.now()),
  name,
  mediaType,
  bytes: content.length,
  sha256: createHash("sha256").update(content).digest("hex")
})

describe("Files of messages", () => {
  for (const { agentId, place } of subjects)
    if (place.missing !== undefined) it.skip(`reach the model of ${agentId}: ${place.missing}`)

  const present = subjects.filter(({ place }) => place.missing === undefined)
  it.each(present)("reach the model of $agentId", async ({ adapter, agentId, place }) => {
    const peer = await openPeer()
    const grants = ["full_access"] as const
    const prepare = (edge: Stage["edge"]) => peer.join(edge.home)
    const stage = await Stage.open(place, agentId, RIGHT_KEY, { grants, prepare })
    onTestFinished(() => stage.close())
    await peer.linked()
    const mode: RunMode = adapter.capabilities.approvals ? "ask" : "full_access"
    const sessionId = mint<SessionId>("ses", Date.now())
    const start = async (text: string, message: ReadonlyArray<Attachment>) => {
      const runId = mint<RunId>("run", Date.now())
      stage.edge.runIds.add(runId)
      const create = { workspace: "ws", agentId, mode, input: { text }, sessionId }
      const payload = { runId, create, attachments: { message, earlier: [] } } as unknown
      const outcome = await peer.ask("StartRun", payload as CommandPayload<"StartRun">)
      assert.strictEqual(outcome._tag, "Done", JSON.stringify(outcome))
      return runId
    }
    const endOf = (runId: RunId) => {
      const last = peer.log(runId).at(-1)
      return last !== undefined && isTerminalType(last.type) ? last : undefined
    }
    const run = async (text: string, message: ReadonlyArray<Attachment>) => {
      const before = stage.modelRequests.length
      const runId = await start(text, message)
      await peer.until("the end", () => endOf(runId) !== undefined, 60_000)
      assert.strictEqual(endOf(runId)?.type, "run.completed", JSON.stringify(endOf(runId)))
      return { events: peer.log(runId), asked: stage.modelRequests.slice(before) }
    }
    /** Approvals that no policy has decided. */
    const questions = (runId: RunId) => {
      const idsOf = (type: string) =>
        peer.log(runId).flatMap((event) => (event.type === type ? [String(event.payload["approvalId"])] : []))
      const resolved = new Set(idsOf("run.approval.resolved"))
      return idsOf("run.approval.requested").filter((id) => !resolved.has(id))
    }

    const image = attachment("a dot.png", "image/png", PIXEL)
    const notes = attachment("notes.txt", "text/plain", NOTES)
    peer.attachments.set(image.id, PIXEL)
    peer.attachments.set(notes.id, NOTES)
    const seen = await run(promptFor("say", "I see"), [image, notes])
    assert.isTrue(
      seen.asked.some((request) => request.includes(PIXEL.toString("base64"))),
      "the bytes of the image are in a request"
    )
    const folder = join(stage.edge.home, "attachments", sessionId)
    const path = `${folder}/${notes.id}-notes.txt`
    assert.isTrue(
      seen.asked.some((request) => request.includes(path)),
      "the path of the text is in a request"
    )
    report.push(`${agentId}: the model received the image, and the path of the text`)

    const later = await run(promptFor("read", path), [])
    assert.isTrue(
      later.asked.some((request) => request.includes(MILK)),
      "a later turn reads the text"
    )
    const decisions = later.events.flatMap(({ payload, type }) =>
      type === "run.approval.resolved" ? [String(payload["decidedBy"] ?? payload["by"])] : []
    )
    assert.isTrue(
      decisions.every((by) => by.startsWith("policy:")),
      decisions.join(" ")
    )
    report.push(`${agentId}: a later turn read the text (${decisions.join(" ") || "without a request"})`)
    if (!adapter.capabilities.approvals) return

    const runId = await start(promptFor("edit", path), [])
    await peer.until("a question", () => questions(runId).length > 0 || endOf(runId) !== undefined, 60_000)
    assert.isNotEmpty(questions(runId), JSON.stringify(peer.log(runId)))
    await peer.ask("CancelRun", { runId, by: "usr_ada" })
    assert.deepStrictEqual(readFileSync(path), NOTES)
    report.push(`${agentId}: a write there is a question`)
  })
})
