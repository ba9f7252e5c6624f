/** `docs/configuration.md`: the settings, from the tables that the services read them by. */
import { edgeSettings } from "@corral/edge/EdgeSettings"
import { gatewaySettings } from "@corral/gateway/GatewaySettings"
import { hubSettings } from "@corral/hub/HubSettings"
import type { Setting } from "@corral/service/Settings"

const head = `# Configuration

Generated from \`EdgeSettings.ts\`, \`HubSettings.ts\` and \`GatewaySettings.ts\` by \`npm run generate\`.

Configure Corral with environment variables, and profiles and runners with a file ([agents](agents.md)). A missing or empty variable has its default. An invalid
value stops the start with one sentence that names the variable. Runtimes never receive variables that start with \`CORRAL_\`, except the two
marks by which Corral finds its processes.
`

const files = `
## Files

All lie in \`CORRAL_HOME\`, which is made with mode 0700.

| File | What it is | Mode |
|---|---|---|
| \`edge.db\`, \`edge.db-wal\`, \`edge.db-shm\` | the store: events, runs, approvals, idempotency keys | 0600 |
| \`edge.db.lock\` | held while an Edge uses this home; a second one is refused | |
| \`edge.token\` | the local token; \`CORRAL_EDGE_TOKEN_FILE\` puts it elsewhere. Delete it and start again for a new one | 0600 |
| \`edge.config.json\` | profiles and runners, written by you; \`CORRAL_EDGE_CONFIG_FILE\` puts it elsewhere. Refused where others can write it | |
| \`edge.json\` | address, process id, instance id and version of the running Edge, and the path of its token file; there while it serves | 0600 |
| \`device.json\` | as which device this machine has joined a Hub, and its private key | 0600 |
| \`own-device.json\` | the same for the Hub that \`corral up\` starts beside the Edge | 0600 |
| \`hub.json\` | the Hub that you are signed in to from the command line, and the token of that sign-in | 0600 |
| \`postgres\` | the Hub's embedded PostgreSQL: its data in \`18\`, its socket, its log in \`server.log\` | 0700 |
| \`tmp/<run id>\` | temporary files of a live run; elsewhere where this path leaves a socket in it no room | 0700 |
`

const table = (service: string, settings: ReadonlyArray<Setting>): string => {
  const rows = settings.map(
    ({ name, what, fallback }) => `| \`${name}\` | ${what} | ${fallback === "" ? "" : `\`${fallback}\``} |`
  )
  return `\n## ${service}\n\n| Variable | Meaning | Default |\n|---|---|---|\n${rows.join("\n")}\n`
}

/** The page as Markdown. */
export const configurationPage = (): string =>
  `${head}${table("Edge", edgeSettings)}${table("Hub", hubSettings)}${table("Gateway", gatewaySettings)}${files}`
