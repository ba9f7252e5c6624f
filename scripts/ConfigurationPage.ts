/** `docs/configuration.md`: the settings, from the tables that the services read them by. */
import { edgeSettings } from "@corral/edge/EdgeSettings"
import { gatewaySettings } from "@corral/gateway/GatewaySettings"
import { hubSettings } from "@corral/hub/HubSettings"
import { type SettingTable, variablesOf } from "@corral/service/settings/Setting"

const head = `# Configuration

Generated from \`EdgeSettings.ts\`, \`HubSettings.ts\` and \`GatewaySettings.ts\` by \`npm run generate\`.

Configure Corral with environment variables, and profiles and runners with a file ([agents](agents.md)). A missing or empty variable has its default. An invalid
value stops the start with one sentence that names the variable. Runtimes never receive variables that start with \`CORRAL_\`, except the two
marks by which Corral finds its processes.
`

const files = `
## Files

All files are in \`CORRAL_HOME\`, which Corral creates with mode 0700.

| File | Content | Mode |
|---|---|---|
| \`edge.db\`, \`edge.db-wal\`, \`edge.db-shm\` | the store: events, runs, approvals, idempotency keys | 0600 |
| \`edge.db.lock\` | locked while an Edge uses this home; a second Edge is refused | |
| \`held/\` | socket, key and problems (\`holder.log\`) of the process that holds live runs, and what their programs have printed. Deleted at the end of each run. With a long path of the home, the socket is in \`/tmp/corral-held-…\` | 0700 |
| \`control-groups.json\` | folders in which the Edge made control groups, to find what a killed Edge left. The Edge searches everywhere without it | 0600 |
| \`edge.token\` | the local token; \`CORRAL_EDGE_TOKEN_FILE\` sets another path. To replace the token, delete the file and restart the Edge | 0600 |
| \`ahp.token\` | the token of [\`corral ahp\`](editors.md#visual-studio-code). To replace it, delete the file and start the command again | 0600 |
| \`edge.config.json\` | your profiles and runners; \`CORRAL_EDGE_CONFIG_FILE\` sets another path. The Edge refuses a file that others can write | |
| \`presets.json\` | profiles and runners that are [managed over the API](agents.md#manage-presets). The Edge does not start if others can write the file, or if it is damaged | 0600 |
| \`edge.json\` | address, process id, instance id and version of the running Edge, and the path of its token file. Exists while the Edge is running | 0600 |
| \`device.json\` | this machine's device at a Hub, and its private key | 0600 |
| \`own-device.json\` | the same for the Hub that \`corral up\` starts | 0600 |
| \`hub.json\` | the Hub that the command line is signed in to, and the token of that sign-in | 0600 |
| \`own-sign-in.json\` | the sign-in at the Hub that \`corral up\` starts, while that Hub is stopped. The next start continues it | 0600 |
| \`postgres\` | the Hub's embedded PostgreSQL: its data in \`18\`, its socket, its log in \`server.log\` | 0700 |
| \`runtime-state/<run id>\` | the [private state](confinement.md#state-of-the-runtime) of a confined run's runtime. What could not be taken back stays | 0700 |
| \`databases\` | databases of runtimes for the confined runs of one workspace | 0700 |
| \`caches\` | [caches](confinement.md#caches) of confined runs | 0700 |
| \`tmp/<run id>\` | temporary files of a live run; another folder if this path is too long for a socket | 0700 |
`

const table = (service: string, settings: SettingTable): string => {
  const rows = variablesOf(settings).map(
    (variable) =>
      `| \`${variable.name}\` | ${variable.doc} | ${variable.default === "" ? "" : `\`${variable.default}\``} |`
  )
  return `\n## ${service}\n\n| Variable | Meaning | Default |\n|---|---|---|\n${rows.join("\n")}\n`
}

/** The page as Markdown. */
export const configurationPage = (): string =>
  `${head}${table("Edge", edgeSettings)}${table("Hub", hubSettings)}${table("Gateway", gatewaySettings)}${files}`
