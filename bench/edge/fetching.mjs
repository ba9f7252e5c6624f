#!/usr/bin/env node
/** Program of the agent "fetching": an agent on Node. It loads Node's HTTP client before its first line, and connects to no server. */
import { createInterface } from "node:readline"

const line = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)

await fetch("data:,ready")
createInterface({ input: process.stdin }).once("line", () => {
  line({ type: "hello", session: "fetching", version: "1.0.0", mode: "ask" })
  line({ type: "done", status: "completed", text: "fetched" })
})
