import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Command, parseCommand } from "../../src/conversation/ChatCommands.ts"

const cases: ReadonlyArray<readonly [said: string, command: Command]> = [
  ["status", { _tag: "Status" }],
  [" /Status ", { _tag: "Status" }],
  ["状态", { _tag: "Status" }],
  ["status of the build?", { _tag: "Work", text: "status of the build?" }],
  ["list", { _tag: "List" }],
  ["list all files", { _tag: "Work", text: "list all files" }],
  ["cancel", { _tag: "Cancel", which: undefined }],
  ["取消 2", { _tag: "Cancel", which: 2 }],
  ["stop", { _tag: "Stop" }],
  ["/stop", { _tag: "Stop" }],
  ["停止", { _tag: "Stop" }],
  ["stop 2", { _tag: "Cancel", which: 2 }],
  ["stop the server", { _tag: "Work", text: "stop the server" }],
  ["compare", { _tag: "Compare" }],
  ["/compare", { _tag: "Compare" }],
  ["对比", { _tag: "Compare" }],
  ["compare both files", { _tag: "Work", text: "compare both files" }],
  ["continue", { _tag: "Continue" }],
  ["/continue", { _tag: "Continue" }],
  ["继续", { _tag: "Continue" }],
  ["continue with the tests", { _tag: "Work", text: "continue with the tests" }],
  ["! use the other file", { _tag: "Now", text: "use the other file" }],
  ["！用另一个文件", { _tag: "Now", text: "用另一个文件" }],
  ["!/stop", { _tag: "Now", text: "/stop" }],
  ["!", { _tag: "Help" }],
  ["new", { _tag: "Fresh", text: "" }],
  ["/new", { _tag: "Fresh", text: "" }],
  ["新会话", { _tag: "Fresh", text: "" }],
  ["cancel my subscription", { _tag: "Work", text: "cancel my subscription" }],
  ["approve", { _tag: "Decide", decision: "allow", which: undefined }],
  ["批准", { _tag: "Decide", decision: "allow", which: undefined }],
  ["deny 3", { _tag: "Decide", decision: "deny", which: 3 }],
  ["deny all requests in nginx.conf", { _tag: "Work", text: "deny all requests in nginx.conf" }],
  ["use 2", { _tag: "Use", which: 2 }],
  ["where", { _tag: "Use", which: undefined }],
  ["use tabs", { _tag: "Work", text: "use tabs" }],
  ["agent claude-code", { _tag: "Agent", name: "claude-code" }],
  ["agent", { _tag: "Agent", name: undefined }],
  ["agent smith wrote this", { _tag: "Work", text: "agent smith wrote this" }],
  ["limit", { _tag: "Limit", text: "" }],
  ["/limits off", { _tag: "Limit", text: "off" }],
  ["limit tokens=5000 time=10m", { _tag: "Limit", text: "tokens=5000 time=10m" }],
  ["限额 turns=2", { _tag: "Limit", text: "turns=2" }],
  ["limit turns=", { _tag: "Limit", text: "turns=" }],
  ["limit the output to ten lines", { _tag: "Work", text: "limit the output to ten lines" }],
  ["limit x=1 and y", { _tag: "Work", text: "limit x=1 and y" }],
  ["bind", { _tag: "Bind" }],
  ["解绑", { _tag: "Unbind" }],
  ["?", { _tag: "Help" }],
  ["123456", { _tag: "Number", digits: "123456" }],
  ["1234567", { _tag: "Work", text: "1234567" }],
  ["/new fix\nit", { _tag: "Fresh", text: "fix\nit" }],
  ["new code goes here", { _tag: "Work", text: "new code goes here" }],
  ["run the tests", { _tag: "Work", text: "run the tests" }],
  ["/run the tests", { _tag: "Work", text: "the tests" }],
  ["/run", { _tag: "Help" }],
  ["新任务 修复它", { _tag: "Fresh", text: "修复它" }],
  ["/etc/passwd is where?", { _tag: "Work", text: "/etc/passwd is where?" }],
  ["/home", { _tag: "Unknown" }],
  ["/typo", { _tag: "Unknown" }],
  ["/staus", { _tag: "Unknown" }],
  ["/状太", { _tag: "Unknown" }],
  ["/typo fix the tests", { _tag: "Unknown" }],
  ["/status of the build", { _tag: "Unknown" }],
  ["/list all files", { _tag: "Unknown" }],
  ["/cancel my subscription", { _tag: "Unknown" }],
  ["/agent smith wrote this", { _tag: "Unknown" }],
  ["/run /typo", { _tag: "Work", text: "/typo" }],
  ["/run 123456", { _tag: "Work", text: "123456" }],
  ["~/notes.md is empty", { _tag: "Work", text: "~/notes.md is empty" }],
  ["constructor", { _tag: "Work", text: "constructor" }],
  ["", { _tag: "Nothing" }],
  [" \n ", { _tag: "Nothing" }]
]

describe("a message", () => {
  it.each(cases)("%j", (text, command) => {
    assert.deepStrictEqual(parseCommand(text), command)
  })

  it("that begins with a slash and a word starts work only after new, run and start", () => {
    const word = fc.stringMatching(/^[\p{L}\p{N}_-]{1,12}$/u)
    fc.assert(
      fc.property(word, fc.string({ maxLength: 30 }), (name, rest) => {
        const { _tag } = parseCommand(`/${name} ${rest}`)
        const starts = /^(new|run|start|新任务|新会话|运行|开始)$/iu.test(name)
        if (!starts) assert.notInclude(["Work", "Now", "Fresh"], _tag)
      })
    )
  })

  it("of more than a few words is work, word for word", () => {
    const sentence = fc.string({ minLength: 40 }).filter((candidate) => {
      const text = candidate.trim()
      return (
        text.length > 30 &&
        !/^[/!！]/u.test(text) &&
        !/^(agents?|智能体|新任务|新会话|运行|开始)\s/iu.test(text)
      )
    })
    fc.assert(
      fc.property(sentence, (text) => {
        assert.deepStrictEqual(parseCommand(text), { _tag: "Work", text: text.trim() })
      })
    )
  })
})
