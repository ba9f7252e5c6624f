/** Characters that a person does not see, in what a client shows: a command that hides its end, titles, names and addresses. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { AgentId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { confirmation, decisionOf } from "../../src/fold/Approvals.ts"
import { CallFold } from "../../src/fold/CallFold.ts"
import { inputRequest } from "../../src/fold/Questions.ts"
import { agentInfo, chatSummary, sessionSummary } from "../../src/host/SessionViews.ts"
import { folder, MemoryServices } from "../MemoryServices.ts"

const approvalId = "apr_01K0000000000000000000000A"
/** Shown from right to left: `ls #` seems to end the command. */
const REVERSED = "ls \u202e# \u2066; rm -r ~"

const request: ApprovalRequest = {
  action: "shell",
  risk: "high",
  title: "Run ls",
  editable: true,
  scopes: ["once"]
}

const shown = (more: Partial<ApprovalRequest>): string | undefined => {
  const action = confirmation("t", "c", approvalId, { ...request, ...more })
  return action.type === "chat/toolCallReady" ? action.toolInput : undefined
}

const seen = (text: string | undefined) => {
  assert.isString(text)
  assert.notMatch(text ?? "", /[\u202e\u2066\r\u200b\u00a0]/)
}

describe("the input of a call that waits", () => {
  it("names each character of a command that a person does not see", () => {
    assert.strictEqual(shown({ command: REVERSED }), "ls <U+202E># <U+2066>; rm -r ~")
    assert.strictEqual(shown({ command: "ls\r; rm" }), "ls␍; rm")
    assert.strictEqual(shown({ command: "ls\u00a0-l" }), "ls<U+00A0>-l")
    seen(shown({ input: REVERSED }))
  })

  it("escapes such characters in JSON, which stays the same value", () => {
    const input = { path: "notes\u202etxt.exe", text: "a\u200bb" }
    const text = shown({ input })
    seen(text)
    assert.deepStrictEqual(JSON.parse(text ?? ""), input)
    const selectedOptionId = `${approvalId}/allow_once`
    const sent = { approved: true, selectedOptionId, editedToolInput: text }
    assert.deepStrictEqual(decisionOf(approvalId, { ...request, input }, sent), {
      decision: "allow",
      scope: "once"
    })
  })

  it("is unchanged otherwise", () => {
    const input = { text: "שלום 你好 👍🏽\n" }
    assert.strictEqual(shown({ input }), JSON.stringify(input, undefined, 2))
    assert.strictEqual(shown({ command: "ls -l\n\tcd 你好" }), "ls -l\n\tcd 你好")
  })
})

describe("a call that runs", () => {
  it("names hidden characters in its input and name", () => {
    const calls = new CallFold("run_1")
    const call = { tool: "Ba\u202esh", title: "Run", parent: undefined, at: "2026-11-29T10:00:00.000Z" }
    const [start, ready] = calls.announce("t", "c", { ...call, input: { command: REVERSED } })
    seen(start?.type === "chat/toolCallStart" ? start.displayName : undefined)
    seen(ready?.type === "chat/toolCallReady" ? ready.toolInput : undefined)
    const [, other] = calls.announce("t", "d", { ...call, input: { path: REVERSED } })
    seen(other?.type === "chat/toolCallReady" ? other.toolInput : undefined)
  })
})

describe("names", () => {
  it("of sessions and of their chats show what is in them", () => {
    const services = new MemoryServices()
    const stored = services.sessions.get(services.newSession())
    if (stored === undefined) return assert.fail("there is no session")
    const session = { ...stored, title: REVERSED, rights: { maySend: true, mayDecide: true } }
    const placed = { session, address: "scripted:/1", folder }
    seen(sessionSummary(placed).title)
    seen(chatSummary(placed, session.chats[0]).title)
  })

  it("of agents and of their devices show what is in them", () => {
    const agent = { id: "scripted" as AgentId, models: [], modes: [] } // an id of any text
    const info = agentInfo({ ...agent, label: REVERSED, description: `on ${REVERSED}` })
    seen(info.displayName)
    seen(info.description)
  })
})

describe("the address of a question", () => {
  const place = { mode: "ask", modes: ["ask"] } as const
  const link = (url: string) => inputRequest("i", { kind: "link", title: "Sign in", url }, place)

  it("is one that a browser opens, never a command of the editor", () => {
    assert.deepStrictEqual(link("https://example.com/a?b"), {
      id: "i",
      message: "Sign in",
      url: "https://example.com/a?b"
    })
    for (const url of [
      "command:workbench.action.terminal.sendSequence?%5B%5D",
      "vscode://extension/run",
      "file:///etc/passwd",
      "javascript:alert(1)",
      "https://user:password@example.com/",
      "no address"
    ])
      assert.isUndefined(link(url), url)
  })

  it("shows the real name of its host", () => {
    assert.strictEqual(link("https://аpple.com/")?.url, "https://xn--pple-43d.com/")
    seen(link(`https://example.com/${"\u202e"}moc`)?.url)
  })
})
