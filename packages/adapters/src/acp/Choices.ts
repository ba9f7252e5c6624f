/**
 * What a session lets its client choose: the mode and the model, in either of the two forms in which agents offer them.
 */
import { arrayOf, isJsonObject, objectOf, textOf, textsIn, type JsonObject } from "../text/Json.ts"

export interface Choice {
  readonly current: string | undefined
  readonly offered: () => ReadonlyArray<string>
  /** The request that chooses, without the session's id. */
  readonly choose: (value: string) => { readonly method: string; readonly params: JsonObject }
}

/** A separate form, like `modes: { currentModeId, availableModes: [{ id }] }`. */
const own = (
  state: unknown,
  keys: {
    readonly current: string
    readonly offered: string
    readonly id: string
  },
  choose: Choice["choose"]
): Choice | undefined =>
  isJsonObject(state)
    ? {
        current: textOf(state[keys.current]),
        offered: () => textsIn(arrayOf(state[keys.offered]), keys.id),
        choose
      }
    : undefined

/** One of `configOptions`, whose values may stand in groups. */
const option = (session: JsonObject, category: "mode" | "model"): Choice | undefined => {
  const found = arrayOf(session["configOptions"]).find(
    (one): one is JsonObject => isJsonObject(one) && (one["category"] === category || one["id"] === category)
  )
  const configId = textOf(found?.["id"])
  if (found === undefined || configId === undefined) return undefined
  const values = () =>
    arrayOf(found["options"]).flatMap((one) => {
      const { options } = objectOf(one)
      return options === undefined ? [one] : arrayOf(options)
    })
  return {
    current: textOf(found["currentValue"]),
    offered: () => textsIn(values(), "value"),
    choose: (value) => ({ method: "session/set_config_option", params: { configId, value } })
  }
}

/** `session` is what opened it: the result of `session/new`, `session/load` or `session/resume`. */
export const modeOf = (session: JsonObject): Choice | undefined =>
  own(session["modes"], { current: "currentModeId", offered: "availableModes", id: "id" }, (modeId) => ({
    method: "session/set_mode",
    params: { modeId }
  })) ?? option(session, "mode")

export const modelOf = (session: JsonObject): Choice | undefined =>
  own(
    session["models"],
    { current: "currentModelId", offered: "availableModels", id: "modelId" },
    (modelId) => ({ method: "session/set_model", params: { modelId } })
  ) ?? option(session, "model")
