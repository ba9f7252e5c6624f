/** Method and path of each endpoint of the Hub, for the console: the contract without its schemas. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HttpApi } from "effect/http-api"

export const consoleRoutes = (): string => {
  const groups = new Map<string, Array<string>>()
  HttpApi.reflect(HubApi, {
    onGroup: ({ group }) => void groups.set(group.identifier, []),
    onEndpoint: ({ endpoint, group }) =>
      void groups
        .get(group.identifier)
        ?.push(`    ${endpoint.identifier}: ["${endpoint.method}", "${endpoint.path}"]`)
  })
  const texts = [...groups].map(([name, endpoints]) => `  ${name}: {\n${endpoints.join(",\n")}\n  }`)
  return `/** Made from the contract by \`npm run generate\`. */\nexport const hubRoutes = {\n${texts.join(",\n")}\n} as const\n`
}
