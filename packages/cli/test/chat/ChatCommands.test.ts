import { assert, describe, it } from "@effect/vitest"
import { chatCommands, completionsOf, helpLines, parseLine } from "../../src/chat/ChatCommands.ts"

describe("parseLine", () => {
  it("distinguishes messages, input for a turn, and commands", () => {
    const message = { kind: "message", isInput: false } as const
    assert.deepStrictEqual(parseLine(" hello "), { ...message, text: "hello" })
    assert.deepStrictEqual(parseLine("! stop that"), { kind: "message", text: "stop that", isInput: true })
    assert.deepStrictEqual(parseLine("//say hi"), { ...message, text: "/say hi" })
    assert.deepStrictEqual(parseLine("/mode plan"), { kind: "command", name: "mode", argument: "plan" })
    assert.deepStrictEqual(parseLine("/exit"), { kind: "command", name: "quit", argument: "" })
    for (const empty of ["", "  ", "!"]) assert.deepStrictEqual(parseLine(empty), { kind: "empty" })
  })

  it("never sends a mistyped command to the agent", () => {
    for (const line of ["/stpo", "/toString", "/"]) assert.strictEqual(parseLine(line).kind, "invalid", line)
  })

  it("has every command in the help, and completes them", () => {
    for (const name of Object.keys(chatCommands)) assert.include(helpLines.join("\n"), `/${name}`)
    assert.deepStrictEqual(completionsOf("/mod"), ["/mode", "/model"])
    assert.deepStrictEqual(completionsOf("/mode a"), ["/mode ask", "/mode auto_edit"])
    assert.deepStrictEqual(completionsOf("hello"), [])
  })
})
