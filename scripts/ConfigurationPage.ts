/** `docs/configuration.md`: the settings, from the table that the Edge reads them by. */
import { settings } from "@corral/edge/EdgeSettings"

const head = `# Configuration

Generated from \`packages/edge/src/EdgeSettings.ts\` by \`npm run generate\`.

Corral is set up by environment variables; profiles and runners stand in a file ([agents](agents.md)). A variable that is missing or empty has its default. A value that does not
fit stops the start with one sentence that names the variable. Names that start with \`CORRAL_\` never reach a runtime, except the two
marks by which Corral finds its processes.

## Edge

| Variable | Meaning | Default |
|---|---|---|
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
| \`tmp/<run id>\` | temporary files of a live run; elsewhere where this path leaves a socket in it no room | 0700 |
`

/** The page as Markdown. */
export const configurationPage = (): string => {
  const rows = settings.map(({ name, what, fallback }) => `| \`${name}\` | ${what} | \`${fallback}\` |`)
  return `${head}${rows.join("\n")}\n${files}`
}
