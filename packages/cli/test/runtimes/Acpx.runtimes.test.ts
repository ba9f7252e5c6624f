/** The client `acpx` from the package registry: turns at a local Edge, and at a Hub whose device is elsewhere. */
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { installProgram } from "@corral/testing/process/RegistryProgram"
import { openJoined } from "@corral/testing/stack/Joined"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { EditorHomes } from "../joined/EditorHomes.ts"
import { Acpx } from "./Acpx.ts"

const { bin, missing } = await installProgram({ package: "acpx", version: "0.19.1", command: "acpx" })
if (missing !== undefined) console.log(`acpx is skipped: ${missing}`)

const openAcpx = (home: string, ...args: ReadonlyArray<string>): Acpx => {
  const acpx = new Acpx({ bin, home, args: [...args, "--workspace", "ws", "--agent", "scripted"] })
  onTestFinished(() => acpx.remove())
  return acpx
}

/** `answer`: answers the open question in another client. */
const drive = async (acpx: Acpx, answer: (text: string) => Promise<void>): Promise<void> => {
  await acpx.command("sessions", "new")

  const approved = await acpx.prompt("--approve-all", "/write one.txt hello\n/say approval done")
  assert.strictEqual(approved.stopReason, "end_turn")
  assert.match(approved.text, /Write one\.txt: approved by \S+ in an editor/)
  assert.include(approved.text, "approval done")

  const answered = await acpx.prompt("--approve-all", "/question Which colour? | Red | Blue")
  assert.strictEqual(answered.stopReason, "end_turn")
  assert.match(answered.text, /answered by \S+ in an editor: Red/)

  await acpx.command("set-mode", "plan")
  const planned = await acpx.prompt("--deny-all", "/plan One step")
  assert.strictEqual(planned.stopReason, "end_turn")
  assert.match(planned.text, /plan sent back by \S+ in an editor/)
  await acpx.command("set-mode", "ask")

  const stopped = acpx.start("--approve-all", "/say hanging\n/hang")
  await stopped.line(/agent_message_chunk.*hanging/)
  await acpx.command("cancel")
  assert.strictEqual((await acpx.turn(stopped)).stopReason, "cancelled")

  // A question that this client cannot show holds the turn.
  const cut = acpx.start("--approve-all", "/say before\n/question What is your name?\n/say after")
  await cut.line(/agent_message_chunk.*answer inq_/)
  acpx.killAgent()
  const broken = await acpx.turn(cut)
  assert.notStrictEqual(broken.exit, 0)
  assert.include(broken.text, "before")
  const reconnected = acpx.start("--approve-all", "/say reconnected")
  await reconnected.line(/"session\/prompt".*reconnected/)
  await answer("Ada")
  const next = await acpx.turn(reconnected)
  assert.strictEqual(next.stopReason, "end_turn")
  assert.include(next.methods, "session/resume")
  assert.match(next.text, /answered by \S+ in \S+ \S+: Ada/)
  for (const text of ["after", "reconnected"]) assert.strictEqual(next.text.split(text).length, 2, next.text)
  assert.notInclude(next.text, "before")

  await acpx.endOwner()
  const resumed = await acpx.prompt("--approve-all", "/say resumed")
  assert.strictEqual(resumed.stopReason, "end_turn")
  assert.include(resumed.methods, "session/resume")
  assert.notInclude(resumed.methods, "session/new")
  assert.strictEqual(resumed.text.trim(), "resumed")
}

describe.skipIf(missing !== undefined)("acpx", { timeout: 180_000 }, () => {
  it("drives five turns at a local Edge, reconnects in the middle of one and resumes", async () => {
    const edge = await openEdgeProcess()
    await drive(openAcpx(edge.home), async (text) => {
      const [input] = await edge.client.inputs("state=pending")
      assert.isDefined(input)
      const answers = { [input.questions?.[0]?.id ?? ""]: text }
      assert.strictEqual((await edge.client.answer(input.runId, input.id, { answers })).status, 200)
    })
    assert.isTrue(existsSync(join(edge.workspace, "one.txt")))
  })

  it("drives five turns on a device elsewhere, reconnects in the middle of one and resumes", async () => {
    const joined = await openJoined()
    const homes = new EditorHomes()
    onTestFinished(() => homes.remove())
    await drive(openAcpx(homes.signedIn(joined.owner), "--hub", joined.hub.url), async (text) => {
      const { body } = await joined.owner.ask<{
        readonly items: ReadonlyArray<{
          readonly id: string
          readonly questions?: ReadonlyArray<{ readonly id: string }>
        }>
      }>("GET", `/client/inputs?state=pending&projectId=${joined.projectId}`)
      const [input] = body.items
      assert.isDefined(input)
      const answered = await joined.owner.ask("POST", `/client/inputs/${input.id}/answer`, {
        body: { answers: { [input.questions?.[0]?.id ?? ""]: text } }
      })
      assert.strictEqual(answered.status, 200, answered.text)
    })
    assert.isTrue(existsSync(join(joined.edge.workspace, "one.txt")))
  })
})
