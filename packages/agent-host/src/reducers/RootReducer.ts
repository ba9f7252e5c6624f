/** Root state after an action. Pure, as the protocol defines it. An action of an unknown type changes nothing. */
import type { RootAction } from "../protocol/Actions.ts"
import type { ConfigState, RootState } from "../protocol/State.ts"

/** The configuration after a change: merged, or replaced. */
export const changedConfig = (
  config: ConfigState,
  values: Readonly<Record<string, unknown>>,
  replaces: boolean | undefined
): ConfigState => ({ ...config, values: replaces === true ? { ...values } : { ...config.values, ...values } })

export const rootReducer = (state: RootState, action: RootAction): RootState => {
  switch (action.type) {
    case "root/agentsChanged":
      return { ...state, agents: action.agents }
    case "root/activeSessionsChanged":
      return { ...state, activeSessions: action.activeSessions }
    case "root/terminalsChanged":
      return { ...state, terminals: action.terminals }
    case "root/configChanged":
      return state.config === undefined
        ? state
        : { ...state, config: changedConfig(state.config, action.config, action.replace) }
    default:
      return state
  }
}
