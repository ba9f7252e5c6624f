/**
 * Mode and model that a session offers, in either of the two forms that agents use: a field for each, or `configOptions`.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import { arrayOf, isJsonObject, objectOf, textOf, textsIn, type JsonObject } from "../text/Json.ts"
import type { SessionModelState, SessionResponse } from "./AcpExtensions.ts"
import type { AcpRequest } from "./AcpRequest.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

export interface Choice {
  readonly current: string | undefined
  readonly offered: () => ReadonlyArray<string>
  /** The request that chooses a value. */
  readonly choose: (sessionId: string, value: string) => AcpRequest
}

const modeInField = (modes: unknown): Choice | undefined => {
  if (!isJsonObject(modes)) return undefined
  const { availableModes, currentModeId }: UnverifiedFields<Acp.SessionModeState> = modes
  return {
    current: textOf(currentModeId),
    offered: () => textsIn(arrayOf(availableModes), "id"),
    choose: (sessionId, modeId) => ({ method: "session/set_mode", params: { sessionId, modeId } })
  }
}

const modelInField = (models: unknown): Choice | undefined => {
  if (!isJsonObject(models)) return undefined
  const { availableModels, currentModelId }: UnverifiedFields<SessionModelState> = models
  return {
    current: textOf(currentModelId),
    offered: () => textsIn(arrayOf(availableModels), "modelId"),
    choose: (sessionId, modelId) => ({ method: "session/set_model", params: { sessionId, modelId } })
  }
}

/** Values of an option, with those inside groups. */
const valuesOf = (options: unknown): ReadonlyArray<string> =>
  textsIn(
    arrayOf(options).flatMap((entry) => {
      const { options: group }: UnverifiedFields<Acp.SessionConfigSelectGroup> = objectOf(entry)
      return group === undefined ? [entry] : arrayOf(group)
    }),
    "value"
  )

const choiceInOptions = (configOptions: unknown, category: "mode" | "model"): Choice | undefined => {
  const isWanted = (option: unknown): option is JsonObject => {
    const { category: optionCategory, id }: UnverifiedFields<Acp.SessionConfigOption> = objectOf(option)
    return optionCategory === category || id === category
  }
  const option: UnverifiedFields<Acp.SessionConfigOption> = objectOf(arrayOf(configOptions).find(isWanted))
  const configId = textOf(option.id)
  if (configId === undefined) return undefined
  return {
    current: textOf(option.currentValue),
    offered: () => valuesOf(option.options),
    choose: (sessionId, value) => ({
      method: "session/set_config_option",
      params: { sessionId, configId, value }
    })
  }
}

/** Choice of the mode in a session. */
export const modeOf = ({ configOptions, modes }: UnverifiedFields<SessionResponse>): Choice | undefined =>
  modeInField(modes) ?? choiceInOptions(configOptions, "mode")

/** Choice of the model in a session. */
export const modelOf = ({ configOptions, models }: UnverifiedFields<SessionResponse>): Choice | undefined =>
  modelInField(models) ?? choiceInOptions(configOptions, "model")
