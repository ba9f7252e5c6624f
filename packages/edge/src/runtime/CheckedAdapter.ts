/**
 * External adapter whose functions keep the specification, regardless of what its module does.
 *
 * Guarantees: `command` returns a command or throws an error with one sentence. The other functions never throw, and a fault in them is
 * the answer that permits less: rules that cannot be read, a folder that the runtime trusts, an unknown sign-in. Each fault is reported.
 *
 * Does not: check the protocol. `ThreadedProtocol` does.
 */
import type { DenyRules, ProjectSettings, RememberedTrust } from "@corral/domain/run/ProjectSettings"
import type { AnyRuntimeAdapter, SignInProbe } from "@corral/domain/run/RuntimeAdapter"
import { Schema } from "effect"
import { AdapterFault } from "./AdapterThread.ts"
import { firstProblem } from "./AdapterShape.ts"

const Texts = Schema.Array(Schema.String)

const commandProblem = firstProblem(
  Schema.Struct({
    file: Schema.String.check(Schema.isMinLength(1)),
    args: Texts,
    env: Schema.optional(Schema.Record(Schema.String, Schema.String)),
    settingsFiles: Schema.optional(
      Schema.Array(Schema.Struct({ env: Schema.String, name: Schema.String, content: Schema.String }))
    ),
    stdin: Schema.Literals(["ignore", "once", "pipe"])
  })
)
const rulesProblem = firstProblem(Schema.UndefinedOr(Texts))
const truthProblem = firstProblem(Schema.Boolean)
const signInProblem = firstProblem(Schema.UndefinedOr(Schema.Boolean))

type Check = (value: unknown) => string | undefined

/** Receives a sentence about a fault, and `undefined` after a call without one, by the function. */
type Report = (id: string, problem: string | undefined, where: string) => void

/** Calls of the functions of one adapter. */
class CheckedCalls {
  readonly #id: string
  readonly #report: Report

  constructor(id: string, report: Report) {
    this.#id = id
    this.#report = report
  }

  /** Throws a sentence for a fault, and for a value that is not the specified one. */
  call<A>(where: string, check: Check, use: () => A): A {
    let value: A
    try {
      value = use()
    } catch (cause) {
      if (!(cause instanceof AdapterFault)) throw cause
      throw this.#fault(where, cause.reason, cause)
    }
    const problem = check(value)
    if (problem !== undefined)
      throw this.#fault(where, `failed: ${where} returned an invalid value (${problem})`)
    this.#report(this.#id, undefined, where)
    return value
  }

  /** Returns `instead` for a fault. */
  callOr<A>(instead: A, where: string, check: Check, use: () => A): A {
    try {
      return this.call(where, check, use)
    } catch {
      return instead
    }
  }

  #fault(where: string, reason: string, cause?: unknown): Error {
    const sentence = `The adapter ${this.#id} ${reason}.`
    this.#report(this.#id, sentence, where)
    return new Error(sentence, { cause })
  }
}

const checkedDenyRules = (calls: CheckedCalls, denyRules: DenyRules): DenyRules => ({
  ...denyRules,
  read: (text) => calls.callOr(undefined, "denyRules.read", rulesProblem, () => denyRules.read(text))
})

const checkedTrust = (calls: CheckedCalls, trust: RememberedTrust): RememberedTrust => ({
  ...trust,
  trusts: (text, path) => calls.callOr(true, "trust.trusts", truthProblem, () => trust.trusts(text, path))
})

const checkedSettings = (
  calls: CheckedCalls,
  { denyRules, trust, ...rest }: ProjectSettings
): ProjectSettings => ({
  ...rest,
  ...(denyRules === undefined ? {} : { denyRules: checkedDenyRules(calls, denyRules) }),
  ...(trust === undefined ? {} : { trust: checkedTrust(calls, trust) })
})

const checkedSignIn = (calls: CheckedCalls, { read, ...rest }: SignInProbe): SignInProbe => {
  // Lists and health ask for it each time, so a fault is not repeated: it can block for seconds.
  let hasFailed = false
  return {
    ...rest,
    read: (result) => {
      if (hasFailed) return undefined
      try {
        return calls.call("signedIn.read", signInProblem, () => read(result))
      } catch {
        hasFailed = true
        return undefined
      }
    }
  }
}

export const checkedAdapter = (adapter: AnyRuntimeAdapter, report: Report): AnyRuntimeAdapter => {
  const calls = new CheckedCalls(adapter.id, report)
  const { command, probe, projectSettings } = adapter
  const { signedIn } = probe
  return {
    ...adapter,
    ...(signedIn === undefined ? {} : { probe: { ...probe, signedIn: checkedSignIn(calls, signedIn) } }),
    ...(projectSettings === undefined ? {} : { projectSettings: checkedSettings(calls, projectSettings) }),
    command: (start) => calls.call("command", commandProblem, () => command(start))
  }
}
