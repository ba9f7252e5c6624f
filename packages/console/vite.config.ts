/** Builds the console to static files under `dist/hub/console`, where a Hub finds them. */
import react from "@vitejs/plugin-react"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"

/** Parts of the console, such as pages and dialogs, that load a module. With fewer it belongs to them. */
const SHARED_BY = 3

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
    reportCompressedSize: false,
    // Few files: a first load waits for each of them, and what several pages need is in the browser after the first page.
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "start", tags: ["$initial"] },
            { name: "shared", test: /[\\/]packages[\\/]console[\\/]src[\\/]/, minShareCount: SHARED_BY },
            { name: "libraries", minShareCount: SHARED_BY }
          ]
        }
      }
    }
  },
  logLevel: "warn"
})
