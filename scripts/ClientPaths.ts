/** Method and path of each endpoint of a contract, for clients: the contract without its schemas. */
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"

/** What a response is, where it is not JSON. */
const kindOf = ({ success }: HttpApiEndpoint.Top): "bytes" | "events" | undefined => {
  const tags = [...success].map((schema) => ("_tag" in schema ? schema._tag : undefined))
  if (tags.includes("StreamUint8Array")) return "bytes"
  return tags.includes("StreamSse") ? "events" : undefined
}

export const clientPaths = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  name: string,
  api: HttpApi.HttpApi<Id, Groups>
): string => {
  const groups = new Map<string, Array<string>>()
  HttpApi.reflect(api, {
    onGroup: ({ group }) => void groups.set(group.identifier, []),
    onEndpoint: ({ endpoint, group }) => {
      const kind = kindOf(endpoint)
      const route = [endpoint.method, endpoint.path, ...(kind === undefined ? [] : [kind])]
      const text = route.map((part) => JSON.stringify(part)).join(", ")
      groups.get(group.identifier)?.push(`    ${endpoint.identifier}: [${text}]`)
    }
  })
  const texts = [...groups].map(([group, endpoints]) => `  ${group}: {\n${endpoints.join(",\n")}\n  }`)
  return `/** Made from the contract by \`npm run generate\`. */\nexport const ${name} = {\n${texts.join(",\n")}\n} as const\n`
}
