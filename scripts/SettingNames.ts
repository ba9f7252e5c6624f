/** Names of all settings, for the check that finds misspelled ones: a service knows its own table alone. */
import { edgeSettings as edge } from "@corral/edge/EdgeSettings"
import { gatewaySettings as gateway } from "@corral/gateway/GatewaySettings"
import { hubSettings as hub } from "@corral/hub/HubSettings"
import { variablesOf } from "@corral/service/settings/Setting"

export const settingNamesModule = (): string => {
  const names = [...new Set(variablesOf({ edge, hub, gateway }).map(({ name }) => name))].toSorted()
  const lines = names.map((name) => `  "${name}"`).join(",\n")
  return `/** Made from the settings of all services by \`npm run generate\`. */\nexport const settingNames: ReadonlyArray<string> = [\n${lines}\n]\n`
}
