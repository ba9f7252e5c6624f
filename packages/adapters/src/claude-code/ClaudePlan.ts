/**
 * Plan that the tool `ExitPlanMode` hands over, and the answer to its permission request.
 *
 * Guarantees: only a person's approval allows the call.
 */
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { planTitleOf } from "../form/PlanTitle.ts"
import { textOf, type JsonObject } from "../text/Json.ts"

/** The plan of a request, or of its call: an old program asks with an empty input. */
const planIn = (...inputs: ReadonlyArray<JsonObject | undefined>): string =>
  inputs.map((input) => textOf(input?.["plan"])).find((plan) => plan !== undefined && plan !== "") ?? ""

export const toPlanRequest = (
  input: JsonObject,
  callInput: JsonObject | undefined,
  call: Pick<RequestedInput, "callId" | "parentCallId">
): RequestedInput => {
  const plan = planIn(input, callInput)
  return { kind: "plan", title: planTitleOf(plan), plan, ...call }
}

const denied = (message: string, interrupt = false) => ({ behavior: "deny", message, interrupt })

/** The answer to the permission request. */
export const toPlanAnswer = (input: JsonObject, response: InputResponse): object => {
  switch (response._tag) {
    case "PlanApproved":
      return response.endsRun
        ? denied("The plan was approved. The work follows in the next turn.", true)
        : { behavior: "allow", updatedInput: input }
    case "PlanReturned": {
      const { comment } = response
      return denied(
        comment === undefined || comment === ""
          ? "The user did not approve the plan. Revise it."
          : `The user did not approve the plan: ${comment}`
      )
    }
    case "Unanswered":
      return denied(`${response.reason} The plan is not approved. Do not carry it out.`)
    case "Answered":
      return denied("The user did not approve the plan.")
  }
}
