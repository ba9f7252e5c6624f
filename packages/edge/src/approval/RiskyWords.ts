/** Commands that use the network, publish, deploy or destroy, by program and words. Data. A command that is missing here may be harmful too. */

import { capped } from "@corral/domain/text/CappedPattern"

/** Maximum number of characters that are examined. */
export const MAX_WORDS = 2_048

/** Subcommands of a program; `*` for any use. */
export type SubcommandTable = Readonly<Record<string, RegExp>>

const any = /^/

/** Scripts and targets by their names: `npm run release`, `make deploy-prod`, `./deploy.sh`. */
export const runners = new Set(
  "npm pnpm yarn bun make gmake just task rake invoke mise moon nx turbo gradle gradlew mvn".split(" ")
)
export const publishName = /(^|[-_.:/])(publish|release)/i
export const deployName = /(^|[-_.:/])deploy/i

/** Options of a build: `--push`, `--output=type=registry`. */
const toRegistry = /^(push|(image|manifest|compose) push)\b|--push\b|type=registry\b|push=true\b/

const apiWrite = String.raw`^api\b.*\s(-[a-z]*[XfF]|--(method|field|raw-field|input)\b)`

export const publishCommands: SubcommandTable = {
  npm: /^(publish|unpublish|dist-tag|deprecate|owner|access)\b/,
  pnpm: /^publish\b/,
  yarn: /^(npm )?publish\b/,
  bun: /^publish\b/,
  deno: /^publish\b/,
  jsr: /^publish\b/,
  cargo: /^(publish|yank)\b/,
  uv: /^publish\b/,
  poetry: /^publish\b/,
  hatch: /^publish\b/,
  flit: /^publish\b/,
  twine: /^upload\b/,
  gem: /^(push|yank)\b/,
  docker: toRegistry,
  podman: toRegistry,
  nerdctl: toRegistry,
  buildah: toRegistry,
  skopeo: /^(copy|sync|delete)\b/,
  crane: /^(push|copy|append|mutate|tag|delete)\b/,
  oras: /^(push|copy|cp|tag)\b/,
  helm: /^push\b/,
  git: /^(push|(subtree|lfs) push|send-email|svn dcommit|p4 submit)\b/,
  gh: capped(
    MAX_WORDS,
    new RegExp(
      `${apiWrite}|^(release (create|upload|delete|edit)|repo (create|delete|edit)|pr (create|merge)|gist create)\\b`
    )
  ),
  glab: capped(MAX_WORDS, new RegExp(`${apiWrite}|^(release create|mr (create|merge))\\b`)),
  svn: /^(commit|ci|import)\b/,
  sbt: /publish|release/i,
  mvn: /\b(deploy|release:perform)\b/,
  mvnw: /\b(deploy|release:perform)\b/,
  gradle: /\bpublish/,
  gradlew: /\bpublish/,
  dotnet: /^nuget push\b/,
  nuget: /^push\b/,
  vsce: /^publish\b/,
  ovsx: /^publish\b/,
  mix: /^hex\.publish\b/,
  lerna: /^(publish|version)\b/,
  eas: /^(submit|update)\b/,
  fastlane: /^(deliver|pilot|supply|appstore|beta)\b/,
  changeset: /^publish\b/,
  "semantic-release": any,
  np: any
}

export const deployCommands: SubcommandTable = {
  kubectl:
    /\b(apply|create|delete|replace|patch|set|scale|rollout|drain|cordon|edit|run|expose|annotate|label|taint)\b/,
  oc: /\b(apply|create|delete|replace|patch|set|scale|rollout|new-app|start-build)\b/,
  helm: /\b(install|upgrade|uninstall|rollback|delete)\b/,
  helmfile: /\b(apply|sync|destroy)\b/,
  kustomize: /\bdeploy\b/,
  terraform: /\b(apply|destroy|import|taint|state)\b/,
  tofu: /\b(apply|destroy|import|taint|state)\b/,
  terragrunt: /\b(apply|destroy|run-all)\b/,
  pulumi: /\b(up|update|destroy|refresh|import)\b/,
  cdk: /\b(deploy|destroy)\b/,
  sam: /\bdeploy\b/,
  serverless: /\b(deploy|remove)\b/,
  sls: /\b(deploy|remove)\b/,
  vercel: capped(MAX_WORDS, /^(?!.*\b(dev|build|ls|list|inspect|logs|whoami|help|--version|pull)\b)/),
  netlify: /\bdeploy\b/,
  wrangler: /\b(deploy|publish|delete|rollback)\b/,
  firebase: /\bdeploy\b/,
  fly: /\b(deploy|launch|scale|apps destroy|secrets)\b/,
  flyctl: /\b(deploy|launch|scale|apps destroy|secrets)\b/,
  heroku: /\b(container:release|releases:rollback|config:set|ps:scale|apps:destroy)\b/,
  railway: /\b(up|redeploy|down)\b/,
  render: /\bdeploys\b/,
  surge: any,
  eb: /\b(deploy|create|terminate)\b/,
  cap: /\bdeploy\b/,
  dokku: any,
  ansible: any,
  "ansible-playbook": any,
  gcloud:
    /\b(deploy|create|delete|update|set|replace|call|import|reset|resize|start|stop|rollback|add-|remove-|set-)/,
  az: /\b(deployment|create|delete|update|up|deploy)\b/,
  aws: /\b(deploy|create-|update-|delete-|put-|run-|terminate-|invoke|start-|stop-|send-|s3 (cp|mv|rm|sync))/,
  docker: /^(stack (deploy|rm)|service (create|update|rm))\b/,
  nomad: /\b(run|stop)\b/,
  gh: /^(workflow run|secret|variable)\b/,
  systemctl: /\b(start|stop|restart|enable|disable|mask)\b/
}

export const networkCommands: SubcommandTable = Object.fromEntries(
  (
    "curl wget wget2 aria2c axel http https xh ssh scp sftp rsync mosh autossh sshpass nc ncat netcat socat telnet ftp lftp rclone nmap ping " +
    "dig host nslookup whois openssl npx pnpx bunx uvx pipx curlie grpcurl websocat ngrok cloudflared"
  )
    .split(" ")
    .map((program) => [program, any])
)

/** Network subcommands of programs that are otherwise local. */
export const fetchCommands: SubcommandTable = {
  git: /^(clone|fetch|pull|ls-remote|remote (add|set-url|update)|submodule (update|add))\b/,
  gh: any,
  glab: any,
  npm: /^(i|install|ci|add|update|exec|x|audit|view|search|login|whoami)\b/,
  pnpm: /^(i|install|add|update|dlx|fetch)\b/,
  yarn: /^($|install|add|upgrade|dlx)/,
  bun: /^(i|install|add|update|x)\b/,
  pip: /^(install|download)\b/,
  uv: /^(pip|add|sync|tool)\b/,
  poetry: /^(add|install|update)\b/,
  cargo: /^(install|add|fetch|update|search|login)\b/,
  go: /^(get|install|mod download)\b/,
  gem: /^install\b/,
  bundle: /^(install|update)\b/,
  composer: /^(install|update|require)\b/,
  docker: /^(pull|login|run|search)\b/,
  brew: /^(install|upgrade|update|tap)\b/,
  apt: /^(install|update|upgrade)\b/,
  "apt-get": /^(install|update|upgrade)\b/,
  aws: any,
  gcloud: any,
  az: any
}

/** Commands that are hard to undo, or give rights away. */
export const destructiveCommands: SubcommandTable = {
  rm: /(^|\s)(-[a-zA-Z]*[rRf]|--recursive|--force)|(^|\s)[/~]/,
  rmdir: /(^|\s)[/~]/,
  find: /-delete\b|-exec/,
  git: capped(
    MAX_WORDS,
    /^push\b.*(\s(-[a-zA-Z]*f|--force|--mirror|--delete|-[a-zA-Z]*d|--prune)|\s\+|\s:)|^reset\b.*--hard|^clean\b.*-[a-zA-Z]*f|^(filter-branch|filter-repo)\b|^branch\b.*\s-D|^stash (drop|clear)|^reflog expire|^checkout\b.*(\s-f|--force)|^config\b/
  ),
  dd: any,
  mkfs: any,
  fdisk: any,
  parted: any,
  shred: any,
  wipefs: any,
  truncate: any,
  chmod: /(^|\s)(-[a-zA-Z]*R|--recursive|0?[0-7]?777|[ugoa]*\+s|[24]\d{3})/,
  chown: any,
  chattr: any,
  kill: /-9|-KILL|\s-1\b/,
  pkill: any,
  killall: any,
  shutdown: any,
  reboot: any,
  halt: any,
  poweroff: any,
  crontab: any,
  at: any,
  launchctl: any,
  systemctl: any,
  iptables: any,
  ufw: any,
  passwd: any,
  useradd: any,
  usermod: any,
  visudo: any,
  mount: any,
  umount: any,
  npm: /^(publish|unpublish|config set|set )/,
  docker: /\bprune\b|--privileged|-v\s+\/(:|\s)|\/var\/run\/docker\.sock/,
  terraform: /\bdestroy\b/,
  dropdb: any,
  diskutil: any,
  osascript: any
}
