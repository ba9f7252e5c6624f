/**
 * Program of this template: replace it with yours, and adapt `src/index.ts` to what yours prints.
 *
 *   in   {"task":"…"}   {"allow":true}   {"answer":"Short"}   {"answer":null}
 *   out  {"hello":"1.0.0"}   {"says":"…"}   {"wants":"notes.txt"}   {"wrote":"notes.txt"}   {"done":"…"}   {"failed":"…"}
 *        {"asks":"Which length?","options":["Short","Long"]}   {"starts":"check"}   {"ends":"check"}
 */
import { writeFileSync } from "node:fs"
import { createInterface } from "node:readline"

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)

if (process.argv.includes("--version")) {
  process.stdout.write("1.0.0\n")
} else {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value ?? "{}")
  const { task = "" } = await next()
  say({ hello: "1.0.0" })
  say({ says: `You said: ${task}` })
  if (task.startsWith("write ")) {
    say({ wants: "notes.txt" })
    const { allow = false } = await next()
    if (allow) {
      writeFileSync("notes.txt", task)
      say({ wrote: "notes.txt" })
    }
    say(allow ? { done: "It is written." } : { failed: "The write was denied." })
  } else if (task === "ask me") {
    say({ asks: "Which length?", options: ["Short", "Long"] })
    const { answer = null } = await next()
    say({ done: answer === null ? "No one answered." : `The answer is ${answer}.` })
  } else if (task === "check it") {
    // The turn ends while the check runs. Its end starts the next turn.
    say({ starts: "check" })
    say({ done: "The check is running." })
    say({ ends: "check" })
    say({ says: "The check has ended." })
    say({ done: "All is well." })
  } else say({ done: "Nothing to write." })
  process.stdin.destroy()
}
