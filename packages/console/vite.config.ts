/** Builds the console to static files under `dist/hub/console`, where a Hub finds them. */
import react from "@vitejs/plugin-react"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/",
  plugins: [react()],
  build: {
    outDir: fileURLToPath(new URL("../../dist/hub/console", import.meta.url)),
    emptyOutDir: true,
    target: "es2023",
    // A data: address is no file of ours, and the policy of the page lets none in.
    assetsInlineLimit: 0,
    sourcemap: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false
  },
  logLevel: "warn"
})
