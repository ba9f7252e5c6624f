/**
 * Program of this template: replace it with yours, and adapt `src/index.ts` to what yours prints.
 *
 *   in   {"task":"…"}   {"allow":true}
 *   out  {"hello":"1.0.0"}   {"says":"…"}   {"wants":"notes.txt"}   {"wrote":"notes.txt"}   {"done":"…"}   {"failed":"…"}
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
  } else say({ done: "Nothing to write." })
  process.stdin.destroy()
}
