// Links and flows in SimGrid, whose solver shares links as FairShare does. Only its public
// interface is used: a flow is a communication from a host of its own over all its links, which
// have no latency, and its rate is what it has sent after a second.
//
// SimGrid has one engine in a process, and all flows that may ever start must be known before.
#pragma once

#include <cmath>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "network/link_use.h"

namespace trainyard {

namespace sg = simgrid::s4u;

/// How SimGrid keeps routes: in a table of all pairs of hosts, or one for each host, in which a
/// link can be only once: for many flows, all of weight 1.
enum class SimGridRoutes { by_pair, by_host };

class SimGridNetwork {
 public:
  explicit SimGridNetwork(SimGridRoutes routes) : routes_(routes), engine_("twin") {
    // Shares that depend on nothing but the links' bandwidth: no TCP, no acknowledgements.
    sg::Engine::set_config("network/model:CM02");
    sg::Engine::set_config("network/crosstraffic:0");
    sg::Engine::set_config("network/weight-S:0");
    const bool by_host = routes == SimGridRoutes::by_host;
    zone_ = by_host ? sg::create_star_zone("links") : sg::create_full_zone("links");
    sink_ = zone_->create_host("sink", 1.0)->seal();
    if (by_host) zone_->add_route(sink_->get_netpoint(), nullptr, nullptr, nullptr, kNoLinks, true);
  }

  void add_link(double capacity) {
    links_.push_back(make_link("link" + std::to_string(links_.size()), capacity));
  }

  /// Its weights must be whole numbers: it goes over a link so many times. Comm::set_rate is not
  /// heeded when a host sends, so a link of its own limits it, if `most` is finite.
  void add_flow(const std::vector<LinkUse>& uses, double most) {
    const std::string name = "flow" + std::to_string(sources_.size());
    std::vector<sg::LinkInRoute> route;
    if (std::isfinite(most)) route.emplace_back(make_link(name, most));
    for (const LinkUse& use : uses)
      route.insert(route.end(), static_cast<std::size_t>(use.weight),
                   sg::LinkInRoute(links_[static_cast<std::size_t>(use.link)]));
    sg::Host* source = zone_->create_host(name, 1.0)->seal();
    zone_->add_route(source->get_netpoint(),
                     routes_ == SimGridRoutes::by_host ? nullptr : sink_->get_netpoint(), nullptr,
                     nullptr, route);
    sources_.push_back(source);
  }

  /// Runs body(), which may start flows and let time go by.
  template <class Body>
  void run(Body body) {
    zone_->seal();
    sg::Actor::create("body", sink_, body);
    engine_.run();
  }

  sg::CommPtr start(std::size_t flow) {
    return sg::Comm::sendto_async(sources_[flow], sink_, kBytes);
  }

  /// Of the flows, if they run at the same time and no others do.
  std::vector<double> rates(const std::vector<std::size_t>& flows) {
    std::vector<sg::CommPtr> comms;
    for (const std::size_t flow : flows) comms.push_back(start(flow));
    sg::this_actor::sleep_for(1);
    std::vector<double> rates;
    for (const sg::CommPtr& comm : comms)
      rates.push_back(static_cast<double>(kBytes) - comm->get_remaining());
    for (const sg::CommPtr& comm : comms) comm->cancel();
    return rates;
  }

  void set_capacity(std::size_t link, double capacity) { links_[link]->set_bandwidth(capacity); }

 private:
  static constexpr std::uint64_t kBytes = 10'000'000'000'000;
  inline static const std::vector<sg::LinkInRoute> kNoLinks;

  sg::Link* make_link(const std::string& name, double capacity) {
    return zone_->create_link(name, capacity)->set_latency(0)->seal();
  }

  SimGridRoutes routes_;
  sg::Engine engine_;
  sg::NetZone* zone_ = nullptr;
  sg::Host* sink_ = nullptr;
  std::vector<sg::Link*> links_;
  std::vector<sg::Host*> sources_;
};

}  // namespace trainyard
