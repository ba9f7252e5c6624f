/** Files that tools load by name, and files that only look a little like them. Data. */

const listed = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)

/** Tools look for them wherever they are started: in the workspace's folder, and in that of each package. */
export const atTop = listed(`
  gems.rb Package@swift-5.9.swift profiles.clj data_readers.clj myocamlbuild.ml Shakefile.hs _targets.R hatch_build.py pdm_build.py
  toxfile.py RoboFile.php Tuist.swift _config.ts lighthouserc.js config-overrides.js Brocfile.js serverless.ts sanity.cli.ts knip.ts
  app.plugin.js codegen.ts typedoc.js wallaby.js gridsome.server.js truffle.js eslint-local-rules.js ember-cli-build.js testem.js
  pnpmfile.js pnpmfile.cjs pelicanconf.py publishconf.py pavement.py duties.py locustfile.py airflow_local_settings.py maskfile.md
  newtool.ts newtool.py newtool.rb newtool.php newtool.lua newtool.R newtool.clj newtool.exs newtool.groovy newtool.kts newtool.hs newtool.pl`)

/** Their folders say it, wherever those are. */
export const anywhere = listed(`
  project/plugins.scala magefiles/x.go renv/activate.R packrat/init.R site_scons/site_init.py ext/x/extconf.rb fastlane/actions/a.rb
  _plugins/a.rb Tuist/Config.swift src/foo.egg-info/entry_points.txt lib/foo-1.0.dist-info/entry_points.txt config/config.ts
  turbo/generators/config.ts eslint-local-rules/index.js spec/support/jasmine.mjs tasks/__init__.py fabfile/__init__.py
  sitecustomize/__init__.py spec/spec_helper.rb spec/rails_helper.rb test/test_helper.rb features/support/env.rb features/environment.py
  tests/Pest.php tests/bootstrap.php cypress/support/e2e.js cypress/plugins/index.js tests/testthat/helper-x.R tests/testthat/setup-db.R
  test/setup/index.ts __mocks__/fs.js hooks/pre-commit.py hooks/pre_gen_project.py git_hooks/x.py git/hooks/x.py husky/x.js
  actions/foo/index.js build-scripts/x.js ci_scripts/x.py ci-scripts/x.py third_party/x.js external/x.py env/lib/python3.12/os.py
  callback_plugins/a.py library/a.py filter_plugins/x.py config/puma.rb config/initializers/x.rb data/main.tf.json
  data/CMakePresets.json packages/i18n/wrangler.toml packages/messages/cdk.json services/data/serverless.yml infra/data/Pulumi.yaml
  ansible/data/playbook.yml data/devbox.json data/azure-pipelines.yml lang/psalm.xml data/captainhook.json data/config.toml
  data/lint-staged.json data/launchSettings.json commands/a.md agents/a.md skills/a/reference.md memory-bank/activeContext.md
  instructions.md rules/x.md paper.tex`)

/** Names with a meaning for a tool, also where data is. */
export const inData = listed(`
  main.tf.json prod.tfvars.json CMakePresets.json wrangler.toml cdk.json serverless.yml Pulumi.yaml Pulumi.dev.yaml playbook.yml
  devbox.json azure-pipelines.yml psalm.xml captainhook.json config.toml lint-staged.json launchSettings.json package.json tsconfig.json`)
export const dataFolders = listed(
  "test/data tests/fixtures src/data public/i18n static/locales testdata __snapshots__"
)

/** Written without a question, also in a package. */
export const ordinary = listed(`
  src/main.ts src/index.ts src/config.ts src/env.ts src/helpers.ts src/userEnv.ts src/fileHelper.ts src/components/Profile.tsx
  src/hooks/useUser.ts src/hooks/useUser.tsx src/components/hooks/useX.js src/actions/user.ts src/plugins/auth.ts src/file.py
  src/utils/logfile.py src/profile.rb lib/tasks/clean.rb lib/parser.rb lib/user.ex lib/format.lua lib/Model.php
  app/models/user.rb app/helpers/users_helper.rb app/page.tsx app/views/index.html.erb tests/test_main.py tests/unit/parse.test.ts
  test/main.test.ts test/config.test.ts spec/models/user_spec.rb e2e/login.spec.ts cypress/e2e/login.cy.ts __tests__/a.test.js
  docs/guide.md docs/hooks.md docs/commands/run.md docs/rules/no-x.md docs/setup-guide.md README.md notes.txt CHANGELOG.md
  locales/en.json src/locales/de.json fixtures/answer.yaml test/fixtures/user.json testdata/a.xml public/data/points.json
  src/data/list.json static/data/a.yaml tests/recordings/a.json src/styles/main.css public/index.html assets/logo.svg table.csv
  main.go cmd/tool/main.go lib.rs src/lib.rs main.c util.h Main.java src/Main.kt Program.cs analysis/plot.ipynb`)
export const inPackages = listed(`
  packages/web/src/main.ts packages/web/src/components/App.vue packages/web/tests/a.test.ts packages/api/app/models.py
  packages/api/lib/a.rb packages/api/internal/server.go packages/web/src/hooks/useX.ts packages/web/locales/en.json`)
