/** Settings of a service, read from an environment. */
import { type Config, ConfigProvider, Effect } from "effect"
import { type Environment, SettingInvalid } from "./Setting.ts"
import { checkVariables } from "./UnknownVariables.ts"

/** Rejects misspelled variables, then reads the settings. */
export const readSettings = <A>(
  environment: Environment,
  config: Config.Config<A>
): Effect.Effect<A, SettingInvalid> =>
  config.parse(ConfigProvider.fromEnvRecord(environment)).pipe(
    Effect.mapError(({ cause }) => new SettingInvalid({ message: cause.message })),
    (settings) => Effect.andThen(checkVariables(environment), settings)
  )
