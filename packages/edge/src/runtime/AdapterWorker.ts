/**
 * Thread of one external adapter: imports its module and calls its functions. Nothing of it runs in the thread of the Edge.
 *
 * Guarantees: an adapter that throws, blocks, exits or uses too much memory costs this thread only.
 * Does not: protect files or the network. The thread has the rights of the Edge.
 */
import { type MessagePort, workerData } from "node:worker_threads"
import { causeLine } from "./CauseLine.ts"

export interface AdapterWorkerData {
  /** URL of the module. */
  readonly module: string
  readonly port: MessagePort
  /** Answers of calls that block the caller. */
  readonly answers: MessagePort
  /** Becomes 1 when an answer is in `answers`. */
  readonly signal: Int32Array
}

/** A function inside a value, by the names that lead to it. Its result is a value, and `run` names a conversation. */
export type AdapterCall =
  | { readonly _tag: "Load" }
  | { readonly _tag: "Call"; readonly path: ReadonlyArray<string>; readonly args: ReadonlyArray<unknown> }
  | { readonly _tag: "Open"; readonly run: number; readonly start: unknown }
  | {
      readonly _tag: "Protocol"
      readonly run: number
      readonly method: string
      readonly args: ReadonlyArray<unknown>
    }
  | { readonly _tag: "Close"; readonly run: number }

export interface AdapterRequest {
  readonly id: number
  readonly isBlocking: boolean
  readonly call: AdapterCall
}

export type AdapterAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }

/** A module's adapter without its functions, and the paths of these. */
export interface AdapterDescription {
  readonly value: unknown
  readonly functions: ReadonlyArray<ReadonlyArray<string>>
}

const { answers: blockingPort, module, port: requestPort, signal }: AdapterWorkerData = workerData
let adapter: unknown
/** While the module loads, further requests wait. */
let loading: Promise<unknown> | undefined
const conversations = new Map<number, object>()
const MAX_DEPTH = 8

const call = (target: unknown, method: string, args: ReadonlyArray<unknown>): unknown => {
  const found: unknown = Reflect.get(Object(target), method)
  if (typeof found !== "function") throw new Error(`${method} is not a function`)
  return Reflect.apply(found, target, [...args])
}

/** Data of an adapter. The functions of a class instance are on its prototype. */
const described = (
  value: unknown,
  path: ReadonlyArray<string>,
  functions: Array<ReadonlyArray<string>>
): unknown => {
  if (typeof value === "function") {
    functions.push(path)
    return undefined
  }
  if (typeof value !== "object" || value === null || path.length > MAX_DEPTH) return value
  if (Array.isArray(value)) return value.map((each, at) => described(each, [...path, String(at)], functions))
  const names = new Set([
    ...Object.keys(value),
    ...(path.length === 0 ? ["command", "protocol", "id", "label"] : [])
  ])
  return Object.fromEntries(
    [...names].map((name) => [name, described(Reflect.get(value, name), [...path, name], functions)])
  )
}

const load = async (): Promise<AdapterDescription> => {
  const exports: Readonly<Record<string, unknown>> = await import(module)
  adapter = exports["default"] ?? exports["adapter"]
  const functions: Array<ReadonlyArray<string>> = []
  return { value: described(adapter, [], functions), functions }
}

const open = (run: number, start: unknown): unknown => {
  const protocol = call(adapter, "protocol", [start])
  if (typeof protocol !== "object" || protocol === null) throw new Error("protocol returned no object")
  for (const method of ["step", "end", "answer", "input", "cancel"])
    if (typeof Reflect.get(protocol, method) !== "function")
      throw new Error(
        typeof Reflect.get(protocol, "decode") === "function"
          ? "its protocol has `decode`; an Edge loads adapters whose protocol has `step` and `end`"
          : `its protocol has no function ${method}`
      )
  const text: unknown = Reflect.get(protocol, "open")
  if (typeof text !== "string") throw new Error("its protocol has no text `open`")
  conversations.set(run, protocol)
  return text
}

const isQuestion = (output: unknown): boolean => Reflect.get(Object(output), "_tag") === "InputRequested"

/** A protocol without questions needs no `respond`. With one, its program would wait for an answer that never comes. */
const converse = ({ args, method, run }: Extract<AdapterCall, { readonly _tag: "Protocol" }>): unknown => {
  const protocol = conversations.get(run)
  const result = call(protocol, method, args)
  const canRespond = typeof Reflect.get(Object(protocol), "respond") === "function"
  if (!canRespond && Array.isArray(result) && result.some(isQuestion))
    throw new Error("it asks a question, and its protocol has no function respond")
  return result
}

const perform = (request: Exclude<AdapterCall, { readonly _tag: "Load" }>): unknown => {
  switch (request._tag) {
    case "Call": {
      const owner = request.path
        .slice(0, -1)
        .reduce<unknown>((at, name) => Reflect.get(Object(at), name), adapter)
      return call(owner, request.path.at(-1) ?? "", request.args)
    }
    case "Open":
      return open(request.run, request.start)
    case "Protocol":
      return converse(request)
    case "Close":
      return conversations.delete(request.run)
  }
}

const send = ({ isBlocking }: AdapterRequest, answer: AdapterAnswer): void => {
  const port = isBlocking ? blockingPort : requestPort
  try {
    port.postMessage(answer)
  } catch {
    port.postMessage({ id: answer.id, error: "it returned a value that is not data" })
  }
  if (!isBlocking) return
  Atomics.store(signal, 0, 1)
  Atomics.notify(signal, 0)
}

const handle = (request: AdapterRequest): void => {
  const { call: requested, id } = request
  const fail = (cause: unknown) => send(request, { id, error: causeLine(cause) })
  try {
    if (requested._tag === "Load")
      loading = load()
        .then((description) => send(request, { id, value: description }), fail)
        .finally(() => (loading = undefined))
    else send(request, { id, value: perform(requested) })
  } catch (cause) {
    fail(cause)
  }
}

requestPort.on("message", (request: AdapterRequest) => {
  if (loading === undefined) handle(request)
  else void loading.then(() => handle(request))
})
