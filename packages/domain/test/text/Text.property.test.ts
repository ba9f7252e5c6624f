import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AddAgent } from "../../src/run/AgentProfile.ts"
import { RegisterDevice, UpdateDevice } from "../../src/device/Device.ts"
import { DecideHubApproval } from "../../src/hub-api/HubRun.ts"
import { CreateMessage } from "../../src/session/Message.ts"
import { CreateProject, LinkWorkspace, UpdateProject } from "../../src/project/Project.ts"
import { CreateSession, UpdateSession } from "../../src/session/Session.ts"
import { CreateTask } from "../../src/task/Task.ts"
import { isStorableText } from "../../src/text/Text.ts"

const takes = Schema.is(Schema.String.check(isStorableText))

describe("storable", () => {
  it.prop("takes what comes back from UTF-8 as it was, but for U+0000", [Schema.String], ([text]) => {
    const back = new TextDecoder().decode(new TextEncoder().encode(text))
    assert.strictEqual(takes(text), back === text && !text.includes("\0"))
  })

  it.prop("takes no text with U+0000 or half of a pair in it", [Schema.String, Schema.String], ([a, b]) => {
    for (const wrong of ["\0", "\ud800 ", " \udc00"]) assert.isFalse(takes(a + " " + wrong + b + wrong))
  })

  const project = "prj_01K0000000000000000000000Z"
  const device = "dev_01K0000000000000000000000Z"
  const agent = { agentId: "codex", targetId: device, workspace: "site" }
  const task = { ...agent, projectId: project, input: { text: "go" }, mode: "ask", expiresAt: "a" }
  it.each([
    ["CreateProject", CreateProject, { name: "a", description: "b" }],
    ["UpdateProject", UpdateProject, { name: "a", description: "b" }],
    ["LinkWorkspace", LinkWorkspace, { targetId: device, workspace: "site" }],
    ["CreateSession", CreateSession, { projectId: project, title: "a" }],
    ["UpdateSession", UpdateSession, { title: "a" }],
    ["CreateMessage", CreateMessage, { text: "a" }],
    ["AddAgent", AddAgent, { ...agent, label: "a" }],
    ["RegisterDevice", RegisterDevice, { name: "a", kind: "edge", publicKey: "A".repeat(43) }],
    ["UpdateDevice", UpdateDevice, { name: "a" }],
    ["CreateTask", CreateTask, task],
    ["DecideHubApproval", DecideHubApproval, { decision: "deny", reason: "a" }]
  ] as const)("is what %s asks of each of its texts", (_, schema: Schema.Top, whole) => {
    const fits = Schema.is(schema)
    assert.isTrue(fits(whole))
    for (const [field, value] of Object.entries(whole)) {
      const wrong = typeof value === "string" ? `${value}\0` : { text: "\0" }
      assert.isFalse(fits({ ...whole, [field]: wrong }), field)
    }
  })
})
