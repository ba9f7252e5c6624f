/**
 * A server of the Model Context Protocol on stdin and stdout, in one file that needs no package. Its tools ask the user of the program: `form` for
 * the name of a branch, `link` to follow an address. The result of a tool is what the program answered.
 */
import { createInterface } from "node:readline"

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: { readonly name?: string; readonly protocolVersion?: string }
  readonly result?: unknown
  readonly error?: unknown
}

const send = (message: object): unknown =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)

const inputSchema = { type: "object", properties: {} }
const tools = [
  { name: "form", description: "Asks for a branch", inputSchema },
  { name: "link", description: "Asks to sign in", inputSchema }
]
const elicitations: Readonly<Record<string, object>> = {
  form: {
    message: "Which branch?",
    requestedSchema: {
      type: "object",
      properties: { branch: { type: "string", title: "Branch" } },
      required: ["branch"]
    }
  },
  link: { mode: "url", message: "Sign in there.", url: "https://example.com/sign-in", elicitationId: "e1" }
}

/** The calls that wait for an answer of the program. */
const waiting = new Map<number | string, number | string>()

const read = ({ error, id, method, params, result }: Message): void => {
  if (id === undefined) return
  const call = waiting.get(id)
  if (method === undefined && call !== undefined) {
    const text = `The user answered: ${JSON.stringify(result ?? error)}`
    return void send({ id: call, result: { content: [{ type: "text", text }] } })
  }
  switch (method) {
    case "initialize": {
      const protocolVersion = params?.protocolVersion ?? "2025-11-25"
      const serverInfo = { name: "asking", version: "1.0.0" }
      return void send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } })
    }
    case "tools/list":
      return void send({ id, result: { tools } })
    case "tools/call": {
      const request = `ask-${String(id)}`
      waiting.set(request, id)
      return void send({
        id: request,
        method: "elicitation/create",
        params: elicitations[params?.name ?? ""]
      })
    }
    default:
      return void send({ id, result: {} })
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  // The program writes one message a line.
  read(JSON.parse(line) as Message)
})
