/**
 * Runtime of this example: a program that asks before it "deploys". Reads and writes JSON lines.
 *
 *   in   {"task":"…"}   {"yes":true}
 *   out  {"hello":"1.0.0"}   {"says":"…"}   {"wants":"deploy","target":"…"}   {"done":"…"}   {"failed":"…"}
 */
import { createInterface } from "node:readline"

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)

if (process.argv.includes("--version")) {
  process.stdout.write("1.0.0\n")
} else {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value ?? "{}")
  const { task = "" } = await next()
  say({ hello: "1.0.0" })
  say({ says: `I will deploy ${task}.` })
  say({ wants: "deploy", target: task })
  const { yes = false } = await next()
  if (yes) say({ says: "The deployment is done." })
  say(yes ? { done: `Deployed ${task}.` } : { failed: "The deployment was denied." })
  process.stdin.destroy()
}
